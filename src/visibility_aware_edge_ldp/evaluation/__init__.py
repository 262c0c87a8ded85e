"""Where truth and estimates meet: errors, coverage, comparisons, reports."""
