"""What only this study's page shows: classes of problems, and a figure of each step."""

from .classes import by_time, durations, earned_back, kinds, lost, regret_curve, speed_over_duration
from .spread_tiles import spread_tiles
from .steps import few_rows_copies, ratio_bars, side_rates, step_parts, tiles_on_sms

__all__ = [
    "by_time",
    "durations",
    "earned_back",
    "few_rows_copies",
    "kinds",
    "lost",
    "ratio_bars",
    "regret_curve",
    "side_rates",
    "speed_over_duration",
    "spread_tiles",
    "step_parts",
    "tiles_on_sms",
]
