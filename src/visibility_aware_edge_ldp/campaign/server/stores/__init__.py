"""What a server stores, in what tables, and the databases that keep them."""
