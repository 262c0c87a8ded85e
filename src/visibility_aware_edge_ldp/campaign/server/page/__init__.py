"""The parts of the page that a campaign's server shows to everybody."""
