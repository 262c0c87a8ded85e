"""One module for each protocol: its exact audit, and the broken variants that the audit must catch."""
