"""Problem 10: a diffusion step."""
