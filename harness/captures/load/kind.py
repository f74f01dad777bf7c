"""The kind ``load``: requests sent to a serving engine by the clock, and what came of each."""

import re
from pathlib import Path

from harness.evidence.capture import Tables
from harness.evidence.kind import Counts, Format, Kept, Kind
from harness.ground.errors import CaptureError

_RECORDING = "load.json.gz"


class Load(Kind):
    """The lives of requests, and the engine's steps; nothing but the driver watches them."""

    name = "load"
    title = "a recording of serving load (.json)"
    cost = 5
    unprofiled = True
    formats = (Format(re.compile(rb'\s*\{\s*"load"\s*:'), unpacks_itself=True),)
    leaves = (_RECORDING,)
    artifact = _RECORDING
    fills = ("load_runs", "load_requests", "load_tokens", "load_pauses", "load_steps")
    measures = (
        "ttft_p50_ms",
        "ttft_p99_ms",
        "itl_p50_ms",
        "itl_p95_ms",
        "itl_p99_ms",
        "itl_max_ms",
        "e2e_p50_ms",
        "e2e_p99_ms",
        "output_tokens_per_s",
        "total_tokens_per_s",
        "slo_attainment",
        "goodput",
        "queue_mean",
        "queue_max",
        "kv_use_max",
    )
    compared_by = "load_requests"
    kept = (Kept(_RECORDING, rank=1),)

    def read(self, path: Path) -> Tables:
        """Return the tables of a recording."""
        from harness.captures.load import read

        return read.read(path)

    def check(self, counts: Counts, tables: Tables, path: Path) -> None:  # noqa: ARG002
        """Raise CaptureError if no request brought a token."""
        if tables["load_tokens"].is_empty():
            raise CaptureError("holds no token although requests were sent", where=path)

    def conditions(self, path: Path, tables: Tables) -> dict[str, str]:  # noqa: ARG002
        """Return the load in words, as the capture states it."""
        what = tables["load_runs"]["what"]
        return {"load": what[0]} if len(what) and what[0] else {}


KIND = Load()
