"""What only this study's pages show: drawings of orders, banks and pipelines."""

from .banks import banks
from .pipeline import consumers_over_time, stages_over_time
from .tile_walk import tile_walk

__all__ = ["banks", "consumers_over_time", "stages_over_time", "tile_walk"]
