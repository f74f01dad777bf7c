"""Problem 9: serving."""
