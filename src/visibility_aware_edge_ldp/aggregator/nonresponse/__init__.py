"""Estimates where some of those who were asked did not report, from the rows that were.  [HOLDERS.1-8]"""
