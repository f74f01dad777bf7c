"""Origins of runs made by hand: the least that a run has to say of where it comes from."""

from datetime import UTC, datetime
from typing import Any

from harness.evidence.provenance import Origin

TARGET = {"name": "NVIDIA H200", "slug": "nvidia-h200", "device": "cuda"}
GPU = {"name": "NVIDIA H200", "driver": "580.1"}


def origin(**more: Any) -> Origin:
    """Return the origin of a run of the example on a GPU, with ``more`` recorded."""
    return Origin.model_validate({"problem": "9-example", "target": TARGET | {"gpu": GPU}} | more)


def utc(seconds: float) -> str:
    """Return a time in seconds since 1970 as an origin says when it started."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%SZ}"
