"""What a trace of torch.profiler says of the machine it was recorded on."""

import re
from pathlib import Path

from harness.captures.formats.compressed import blocks
from harness.evidence.tables import Tables

_HEAD_BYTES = 1 << 16  # a trace's properties stand before its events
_GPU = re.compile(rb'"deviceProperties"\s*:\s*\[[^\]]*?"name"\s*:\s*"([^"\\]{1,100})"')


def conditions(path: Path, _tables: Tables) -> dict[str, str]:
    """Return the first GPU's name, nothing where the trace names none."""
    match = _GPU.search(next(blocks(path, _HEAD_BYTES), b""))
    return {"GPU": match[1].decode("utf-8", "replace")} if match else {}
