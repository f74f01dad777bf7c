"""What only this study's page shows: the ways by prediction, and which leads where."""

from .exposed import exposed, exposed_over, most_exposed
from .leaders import foreseen, leaders
from .one_gpu import from_one_gpu, missed_from_one_gpu
from .ways_map import ways_map, ways_map_errors

__all__ = [
    "exposed",
    "exposed_over",
    "foreseen",
    "from_one_gpu",
    "leaders",
    "missed_from_one_gpu",
    "most_exposed",
    "ways_map",
    "ways_map_errors",
]
