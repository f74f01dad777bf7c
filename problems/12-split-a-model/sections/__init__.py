"""What only this study's page shows: which way is predicted to be the fastest, and where."""

from .ways_map import ways_map, ways_map_errors

__all__ = ["ways_map", "ways_map_errors"]
