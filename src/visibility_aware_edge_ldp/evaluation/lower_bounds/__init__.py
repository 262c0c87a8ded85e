"""Lower bounds on errors: what no protocol can beat, and how near estimates come to it."""
