"""Findings on timelines of nsys and torch.profiler; ``timeline_view.py`` is what they read."""
