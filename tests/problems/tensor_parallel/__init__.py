"""Problem 7: tensor-parallel decoding on two GPUs."""
