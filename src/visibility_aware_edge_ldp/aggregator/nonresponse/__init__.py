"""Estimates from rows of positions where some users did not report.  [HOLDERS.1-8]"""
