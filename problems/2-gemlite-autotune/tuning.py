"""The tuning of a variant and case: done once, in its own process, and stored beside its caches.

A process that has tuned holds copies, streams and clocks of hundreds of launches. So nothing is
measured in it: a new process loads its choices, as a user's second start would.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

Record = dict[str, Any]
Request = dict[str, Any]

_MOST_WORKERS = 16
# Removed, so that a profiler that follows child processes does not enter the tuner.
_INJECTED = ("LD_PRELOAD", "CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH")


def request(params: dict[str, Any]) -> Request:
    """Return the tuning request of a cell.

    ``workers``: processes that compile ahead, so that tuning only measures; 0 where the tuning
    seconds have to be those that a user pays.
    """
    ms = params.get("ms") or [params["m"]]
    ahead = len(ms) > 1 or params["mode"] in ("max", "clean")
    return {
        **{key: params[key] for key in ("bits", "mode", "n", "k")},
        "ms": ms,
        "workers": min(_MOST_WORKERS, len(os.sched_getaffinity(0))) if ahead else 0,
    }


def record_path(case: str) -> Path:
    """Return the path of the tuning of this variant and ``case``."""
    return Path(os.environ["TRITON_CACHE_DIR"]).parent / f"{case}.json"


def record(request: Request, path: Path) -> Record:
    """Return the tuning of ``request`` stored in ``path``; tune first if there is none."""
    record = read(path, request)
    if record is None:
        _tune(request, path)
        record = read(path, request)
    if record is None:
        raise SystemExit(f"tuning left no record in {path}")
    return record


def read(path: Path, request: Request) -> Record | None:
    """Return the stored record; None without a file or with another request's record."""
    try:
        record: Record = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return record if record["request"] == request else None


def write(path: Path, record: Record) -> None:
    """Write a tuning atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    building = path.with_suffix(f".{os.getpid()}")
    building.write_text(json.dumps(record, allow_nan=False), encoding="utf-8")
    building.replace(path)


def script(*arguments: str) -> list[str]:
    """Return the command of the tuning process."""
    return [sys.executable, str(Path(__file__).with_name("tune.py")), *arguments]


def _tune(request: Request, path: Path) -> None:
    env = {key: value for key, value in os.environ.items() if key not in _INJECTED}
    with tempfile.TemporaryDirectory() as empty:
        if not request["workers"]:  # another M may have compiled the same kernel
            env["TRITON_CACHE_DIR"] = empty
        subprocess.run(script(json.dumps(request), str(path)), env=env, check=True)
