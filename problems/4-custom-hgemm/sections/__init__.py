"""What only this study's pages show: drawings of what its steps change."""

from .banks import banks
from .pipeline import consumers_over_time, stages_over_time
from .step_drawing import step_drawing
from .tile_walk import tile_walk

__all__ = ["banks", "consumers_over_time", "stages_over_time", "step_drawing", "tile_walk"]
