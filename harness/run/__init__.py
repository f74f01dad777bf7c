"""Executes a plan on an engine and records every cell."""
