"""The session as a report of Nsight Compute records it: the GPU, the versions, how it was profiled.

Blocks carry SessionDetails: device attributes (field 6: index and name), resources (field 8: name
and value, such as "CUDA Version") and ncu's own command line (field 11). An option that the command
line does not name has its default, by Nsight Compute's documentation of the command line:
https://docs.nvidia.com/nsight-compute/NsightComputeCli/index.html#command-line-options
"""

import shlex
from pathlib import Path

from harness.captures.ncu import framing
from harness.evidence import dropped
from harness.evidence.tables import Tables, empty

_DEVICES, _RESOURCES, _COMMAND_LINE = 6, 8, 11
_PROFILER = "Nsight Compute Target"
_DEFAULTS = {"clock-control": "base", "cache-control": "all", "replay-mode": "kernel"}
"""Options that change the counters, and ncu's defaults."""
_COUNT_OF_SMS = "device__attribute_multiprocessor_count"
_CAPABILITY = "device__attribute_compute_capability_"


def conditions(path: Path, tables: Tables) -> dict[str, str]:
    """Return the session's conditions, compute capability and number of SMs, where recorded.

    Raises CaptureError for a file that is damaged or cut.
    """
    import polars as pl

    rows = tables["counters"].with_columns(pl.col("metric").cast(pl.String))
    first = dict(rows.group_by("metric").agg(pl.col("value").first()).iter_rows())
    major, minor = (first.get(f"{_CAPABILITY}{part}") for part in ("major", "minor"))
    values = session(path) | dropped.condition(tables.get("dropped", empty("dropped")))
    if major is not None and minor is not None:
        values["compute capability"] = f"{major:.0f}.{minor:.0f}"
    if first.get(_COUNT_OF_SMS):
        values["SMs"] = f"{first[_COUNT_OF_SMS]:.0f}"
    return values


def session(path: Path) -> dict[str, str]:
    """Return the GPU, the versions of CUDA and profiler and how it profiled, where it is said.

    Keys: "GPU", "CUDA", "profiler", "clock control", "cache control", "replay mode".
    Raises CaptureError for a file that is damaged or cut.
    """
    values: dict[str, str] = {}
    for header in framing.headers(path):
        for details in _messages(path, header, framing.SESSION_DETAILS):
            values |= _devices(path, details) | _versions(path, details) | _options(details)
    return values


def _devices(path: Path, details: framing.Fields) -> dict[str, str]:
    names = [_text(device, 2) for device in _messages(path, details, _DEVICES)]
    distinct = dict.fromkeys(name for name in names if name)
    return {"GPU": ", ".join(distinct)} if distinct else {}


def _versions(path: Path, details: framing.Fields) -> dict[str, str]:
    values = {}
    for resource in _messages(path, details, _RESOURCES):
        name, value = _text(resource, 1), _text(resource, 2)
        if name == "CUDA Version":
            values["CUDA"] = value
        elif name == _PROFILER:
            values["profiler"] = f"Nsight Compute {value.partition(' ')[0]}"
    return values


def _options(details: framing.Fields) -> dict[str, str]:
    """Return how the session profiled, by its command line; nothing if the report holds none."""
    line = _text(details, _COMMAND_LINE)
    if not line:
        return {}
    try:
        words = shlex.split(line)
    except ValueError:
        words = line.split()
    values = dict(_DEFAULTS)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        option, equals, value = word.removeprefix("--").partition("=")
        if word.startswith("--") and option in values:
            values[option] = value if equals else following
    return {option.replace("-", " "): value for option, value in values.items()}


def _messages(path: Path, message: framing.Fields, number: int) -> list[framing.Fields]:
    values = message.get(number, ())
    return [framing.fields(path, value) for value in values if isinstance(value, bytes)]


def _text(message: framing.Fields, number: int) -> str:
    values = [value for value in message.get(number, ()) if isinstance(value, bytes)]
    return values[-1].decode("utf-8", "replace") if values else ""
