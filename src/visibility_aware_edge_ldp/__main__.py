"""``python -m visibility_aware_edge_ldp``: the command line."""

from visibility_aware_edge_ldp.cli import main

main()
