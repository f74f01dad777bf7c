"""Findings on memory snapshots; ``memory_view.py`` is what they read."""

FINDINGS = ("fragmentation", "dead_pool", "transient_spike", "leak")
"""The files of this package that each find one cause."""
