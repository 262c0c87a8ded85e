"""What every audit is made of: worlds, enumerated randomness, exact laws, events and findings; no protocol."""
