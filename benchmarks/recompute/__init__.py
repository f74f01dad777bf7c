"""Computes claims again from reports' evidence, by code that shares nothing with the harness."""
