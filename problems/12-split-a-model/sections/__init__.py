"""What only this study's page shows: the ways by prediction, and which leads where."""

from .leaders import foreseen, leaders
from .ways_map import ways_map, ways_map_errors

__all__ = ["foreseen", "leaders", "ways_map", "ways_map_errors"]
