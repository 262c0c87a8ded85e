"""Connected subgraphs of four nodes from scores: over all fours of nodes, or from a sample of nodes."""
