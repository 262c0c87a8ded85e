"""All that does the numbers: packed bits, their counts, tiles on disk, threads and clusters."""
