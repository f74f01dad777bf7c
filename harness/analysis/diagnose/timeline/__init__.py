"""Findings on timelines of nsys and torch.profiler; ``timeline_view.py`` is what they read."""

FINDINGS: tuple[str, ...] = ()
"""The files of this package that each find one cause."""
