"""What a trace of torch.profiler says beside its events: devices, versions, what was recorded.

The keys are Kineto's (pytorch/kineto, libkineto: src/output_json.cpp, src/DeviceProperties.cpp) and
torch.profiler's own (torch/profiler/profiler.py). They may stand before or after the events.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from harness.evidence.capture import SAID, Tables
from harness.evidence.tables import frame
from harness.ground.errors import CaptureError

if TYPE_CHECKING:
    import polars as pl

_RECORDED = {
    "record_shapes": "shapes",
    "with_stack": "Python stacks",
    "with_modules": "modules",
    "with_flops": "FLOPs",
    "profile_memory": "memory",
}
_VENDORS = {
    "NVIDIA": "NVIDIA",
    "Tesla": "NVIDIA",
    "Quadro": "NVIDIA",
    "GeForce": "NVIDIA",
    "AMD": "AMD",
    "Intel": "Intel",
}
"""What the names of a vendor's devices begin with; CUDA 10 and 11 name some without NVIDIA."""

_LONGEST = 100


def around(document: bytes) -> dict[str, Any]:
    """Return the root object's other keys; none where the root is the list itself.

    Raises CaptureError for a number that is none, such as 1e999.
    """
    import msgspec

    try:
        decoded = msgspec.json.decode(document)
    except msgspec.DecodeError as error:  # whose syntax was checked
        reason = str(error).partition(" - ")[0].lower()
        raise CaptureError(f"beside the events: {reason}") from None
    return decoded if isinstance(decoded, dict) else {}


def is_plain(name: str) -> bool:
    """Return whether ``name`` may be printed."""
    return name.isprintable() and 0 < len(name) <= _LONGEST


def devices(metadata: Mapping[str, Any]) -> "pl.DataFrame":
    """Return the table ``devices``; in 2021 their key was another."""
    entries = metadata.get("deviceProperties", metadata.get("computeProperties"))
    listed = entries if isinstance(entries, list) else []
    rows = [_device(entry) for entry in listed if isinstance(entry, dict)]
    columns = ("device", "name", "vendor", "compute_capability", "multiprocessors", "memory_bytes")
    return frame("devices", {key: [row.get(key) for row in rows] for key in columns})


def _device(entry: Mapping[str, Any]) -> dict[str, object]:
    name = entry.get("name")
    name = name if isinstance(name, str) and is_plain(name) else None
    start = (name or "").partition(" ")[0]
    major, minor = _count(entry, "computeMajor"), _count(entry, "computeMinor")
    vendor = _VENDORS.get(start)
    versioned = vendor == "NVIDIA" and major is not None and minor is not None
    return {
        "device": _count(entry, "id"),
        "name": name,
        "vendor": vendor,
        "compute_capability": f"{major}.{minor}" if versioned else None,
        "multiprocessors": _count(entry, "numSms"),
        "memory_bytes": _count(entry, "totalGlobalMem"),
    }


def conditions(
    metadata: Mapping[str, Any],
    gpus: "pl.DataFrame",
    gpu_ops: "pl.DataFrame",
    not_read: Mapping[str, int],
) -> "pl.DataFrame":
    """Return the table ``conditions``; CUDA is the driver's version, as in exports of nsys."""
    values = {
        "GPU": ", ".join(_used(gpus, gpu_ops)),
        "CUDA": _cuda(_count(metadata, "cuda_driver_version")),
        "CUDA runtime": _cuda(_count(metadata, "cuda_runtime_version")),
        "ROCm": _rocm(_count(metadata, "hip_runtime_version")),
        "profiler": _profiler(metadata),
        "rank": _rank(metadata.get("distributedInfo")),
        "tracing": _tracing(metadata, gpu_ops),
        "not read": ", ".join(
            f"{category} {count}"
            for category, count in sorted(not_read.items(), key=lambda item: (-item[1], item[0]))
        ),
        SAID: _said(metadata),
    }
    stated = {name: value for name, value in values.items() if value}
    return frame("conditions", {"name": [*stated], "value": [*stated.values()]})


_EVENTS = {"gpu_ops": "GPU operations", "api_calls": "host calls", "modules": "calls of modules"}
"""What the rows of a table are, where its name does not say it."""
_SAID = ("ERROR", "WARNING")
"""The keys of the messages that Kineto logged while it traced (libkineto: src/output_json.cpp)."""
_MOST_SAID, _LONGEST_SAID = 5, 200


def dropped(tables: Tables, early: Mapping[str, int]) -> "pl.DataFrame":
    """Return the table ``dropped``.

    ``early``: by table, how many events were dropped because they end before they start.
    """
    counts = {name: tables[name].height + count for name, count in early.items() if name in tables}
    columns = {
        "table": [name if name in tables else None for name in early],
        "what": [_EVENTS.get(name, name) for name in early],
        "count": [*early.values()],
        "of": [counts.get(name) for name in early],
        "why": ["end before they start"] * len(early),
    }
    return frame("dropped", columns)


def _said(metadata: Mapping[str, Any]) -> str:
    """Return the profiler's log lines, each once, at most so many."""
    listed = [metadata[key] for key in _SAID if isinstance(metadata.get(key), list)]
    texts = [text for texts in listed for text in texts if isinstance(text, str)]
    lines = [*dict.fromkeys(" ".join(text.split())[:_LONGEST_SAID].rstrip(".") for text in texts)]
    more = [f"and {len(lines) - _MOST_SAID} more"] if len(lines) > _MOST_SAID else []
    return "; ".join([*filter(None, lines[:_MOST_SAID]), *more])


def _used(gpus: "pl.DataFrame", gpu_ops: "pl.DataFrame") -> list[str]:
    """Return the names of the GPUs that ran something; of all GPUs where that is not known."""
    used = set(gpu_ops["device"].drop_nulls().unique())
    named = [(device, name) for device, name in gpus.select("device", "name").rows() if name]
    return sorted({name for device, name in named if device in used} or {name for _, name in named})


def _count(metadata: Mapping[str, Any], key: str) -> int | None:
    value = metadata.get(key)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**63 else None


def _cuda(version: int | None) -> str:
    """Return 12040 as 12.4 (cuda.h: 1000 of the major, 10 of the minor number)."""
    return f"{version // 1000}.{version % 1000 // 10}" if version else ""


def _rocm(version: int | None) -> str:
    """Return 60443483 as 6.4, and in full (hip_version.h: 10^7 of the major, 10^5 of the minor)."""
    if not version:
        return ""
    major, minor, patch = version // 10**7, version // 10**5 % 100, version % 10**5
    return f"{major}.{minor} (HIP {major}.{minor}.{patch})"


def _profiler(metadata: Mapping[str, Any]) -> str:
    libraries = (("CUPTI", "cupti_version"), ("roctracer", "roctracer_version"))
    versions = [
        f"{name} {metadata[key]}"
        for name, key in libraries
        if isinstance(metadata.get(key), int | float)
    ]
    kineto = isinstance(metadata.get("schemaVersion"), int)
    return f"torch.profiler ({', '.join(['Kineto', *versions])})" if kineto else ""


def _rank(distributed: object) -> str:
    if not isinstance(distributed, dict) or (rank := _count(distributed, "rank")) is None:
        return ""
    size = _count(distributed, "world_size")
    return f"{rank} of {size}" if size else str(rank)


def _tracing(metadata: Mapping[str, Any], gpu_ops: "pl.DataFrame") -> str:
    recorded = [name for key, name in _RECORDED.items() if metadata.get(key) == 1]
    graphs = ["CUDA graphs by node"] if gpu_ops["graph_node"].count() else []
    return "; ".join(part for part in (", ".join(recorded), *graphs) if part)
