"""How much work Python does, counted: unlike time it is the same on every machine."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from tests.support.paths import ROOT

_HARNESS = str(ROOT / "harness")


def lines_run(function: Callable[[], object]) -> int:
    """Return how many lines of the harness run during a call, each as often as it runs."""
    count = 0

    def line(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def call(frame: FrameType, _event: str, _argument: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(_HARNESS) else None

    before = sys.gettrace()
    sys.settrace(call)
    try:
        function()
    finally:
        sys.settrace(before)
    return count
