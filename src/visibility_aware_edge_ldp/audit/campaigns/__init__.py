"""What campaigns upload, and what ledgers count: from the bytes that leave participants."""
