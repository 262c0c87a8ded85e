"""The report: figures, one page, and files that are whole or not there."""
