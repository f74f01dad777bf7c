"""Findings on load on a serving engine; ``serving_view.py`` is what they read."""
