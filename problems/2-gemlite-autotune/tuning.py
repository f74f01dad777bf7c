"""What the first process of a variant and case chose, kept for its profiled captures.

Each timing cell tunes anew, so that the luck of the choice is in the interval. A profiler would
slow the tuner's clock, so a profiled cell loads a choice that was made without one.
"""

import json
import os
from pathlib import Path
from typing import Any

Configurations = dict[str, Any]
"""GemLite's own file, as ``gemlite.cache_config`` writes it."""


def path(params: dict[str, Any]) -> Path:
    """Return the place of this variant's choice for a shape, beside the variant's caches."""
    name = "{n}x{k}-m{m}.json".format_map(params)
    return Path(os.environ["TRITON_CACHE_DIR"]).parent / name


def load(gemlite: Any, file: Path) -> bool:
    """Let GemLite take the stored choice; return whether there was one."""
    if not file.exists():
        return False
    if not gemlite.load_config(str(file), overwrite=True):
        raise SystemExit(f"GemLite did not load {file}")
    return True


def store(gemlite: Any, file: Path) -> None:
    """Store GemLite's choice, unless an earlier process has stored one."""
    if file.exists():
        return
    building = file.with_suffix(f".{os.getpid()}")
    gemlite.cache_config(str(building))
    json.loads(building.read_text(encoding="utf-8"))  # GemLite writes no file without an error
    building.replace(file)
