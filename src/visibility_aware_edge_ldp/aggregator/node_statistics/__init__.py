"""What is said of single nodes, or of classes of them: degrees that hold at once, clustering."""
