"""A timeline as plain data: what ``harness inspect`` shows of an nsys export or a torch trace."""

from dataclasses import asdict
from typing import Any

import polars as pl

from harness.analysis import communication, intervals, repeats
from harness.analysis import timeline as analysis
from harness.analysis.idle import host_state
from harness.evidence.tables import LARGE, Tables

Rows = list[dict[str, Any]]


def timeline(tables: Tables) -> dict[str, Any]:
    """Return gpu, idle, calls, copies, series, kernels and ranges; times are ns.

    - gpu: harness.analysis.timeline.Activity over all devices; ``devices`` are its rows by device,
      with the parts of harness.analysis.communication.device_time, of which compute_ns,
      communication_ns, copy_ns and idle_ns sum to span_ns
    - idle: idle time of each device by the host's state then and the call that the host was in, as
      harness.analysis.idle.host_state.idle_table; share: of the device's span
    - calls: host calls by name, as harness.analysis.idle.host_state.call_table
    - copies: by device, direction and memory kind, as harness.analysis.timeline.copy_table
    - series: numbered ranges that repeat, as harness.analysis.repeats.series_table
    - kernels, ranges: by name; a range's ``series`` names the row of series that it counts in

    Idle, calls and series are None where the capture holds more than LARGE GPU operations.
    """
    gpu_ops, ranges = tables["gpu_ops"], tables["ranges"]
    joined = _joined(tables) if gpu_ops.height <= LARGE else _NOT_JOINED
    gpu = _gpu(gpu_ops)
    spans = {device["device"]: device["span_ns"] for device in gpu["devices"]}
    for row in joined["idle"] or []:
        row["share"] = row["total_ns"] / spans[row["device"]]
    series = {row["name"] for row in joined["series"] or []}
    return {
        "gpu": gpu,
        **joined,
        "copies": analysis.copy_table(gpu_ops).to_dicts(),
        "kernels": analysis.kernel_table(gpu_ops).to_dicts(),
        "ranges": [
            row | {"series": _series(row["name"], series)}
            for row in analysis.range_table(ranges).iter_rows(named=True)
        ],
    }


_NOT_JOINED: dict[str, Rows | None] = {"idle": None, "calls": None, "series": None}


def _joined(tables: Tables) -> dict[str, Rows | None]:
    """Return what joins operations, calls and ranges."""
    gpu_ops, api_calls = tables["gpu_ops"], tables["api_calls"]
    pieces = host_state.idle_pieces(gpu_ops, api_calls)
    idle = host_state.idle_table(pieces, tables["waits"])
    return {
        "idle": idle.to_dicts(),
        "calls": host_state.call_table(api_calls, idle).to_dicts(),
        "series": repeats.series_table(tables).to_dicts(),
    }


def _gpu(gpu_ops: pl.DataFrame) -> dict[str, Any]:
    columns = ("device", "start_ns", "duration_ns", "kind", "name", "copy_kind")
    timed = gpu_ops.select(columns).drop_nulls(["start_ns", "duration_ns"])
    timed = intervals.ordered(timed, "start_ns")  # once for both
    activity = analysis.activity(timed)
    parts = {row["device"]: row for row in communication.device_time(timed).to_dicts()}
    devices = []
    for number, part in activity.devices.items():
        row = asdict(part)
        del row["devices"]
        devices.append({"device": number} | row | parts.get(number, {}))
    return asdict(activity) | {"devices": devices}


def _series(name: str | None, names: set[str]) -> str | None:
    series = None if name is None else repeats.series(name)
    return series if series != name and series in names else None
