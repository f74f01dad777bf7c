"""What changed between two captures of one kind, in parts that sum to the whole; pure."""
