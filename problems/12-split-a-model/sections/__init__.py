"""What only this study's page shows: the ways by prediction, and which leads where."""

from .leaders import foreseen, leaders
from .one_gpu import from_one_gpu, missed_from_one_gpu
from .ways_map import ways_map, ways_map_errors

__all__ = [
    "foreseen",
    "from_one_gpu",
    "leaders",
    "missed_from_one_gpu",
    "ways_map",
    "ways_map_errors",
]
