"""What a promise is: relations, guarantees, and how promises add up."""
