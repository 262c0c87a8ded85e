"""The operator's console: studies are made and run in a browser; a passphrase guards the issuer's key."""
