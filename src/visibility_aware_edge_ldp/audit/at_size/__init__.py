"""Every client in worlds of 20 to 1,000 users, by exact laws of the noise that it really adds."""
