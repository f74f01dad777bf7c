"""Problem 11: a vision-language request."""
