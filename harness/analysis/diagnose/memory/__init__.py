"""Findings on memory snapshots; ``memory_view.py`` is what they read."""
