"""The inner loops: packed bits and counts of shared neighbours."""
