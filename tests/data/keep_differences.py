"""Write the captures of make_differences.py as they are kept here: small, and of no machine.

    python tests/data/keep_differences.py MADE KEPT

An export of Nsight Systems loses the environment and the UUIDs of the GPUs; a report of Nsight
Compute loses the machine code of the kernels' libraries, 26 MB here. What is read from them stays
the same, or nothing is written. An ``.nsys-rep`` is not kept: see ``harness.report.redact``.
"""

import os
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import zstandard

from harness.captures import reading, sniff
from harness.captures.ncu import framing
from harness.captures.nsys.redact import without_environment

NO_UUID = "00000000-0000-0000-0000-000000000000"
LEVEL = 19


def keep(made: Path, kept: Path) -> None:
    """Write ``made``, of whatever kind, into the folder ``kept``."""
    if made.suffix in (".gz", ".pickle"):
        shutil.copyfile(made, kept / made.name)
        return
    with tempfile.TemporaryDirectory() as scratch:
        less = Path(scratch) / made.name
        if made.suffix == ".sqlite":
            without_environment(made, less)
            _without_uuids(less)
        else:
            _without_code(made, less)
        kind = sniff.recognised(made)[0]
        before, after = (reading.read(kind, one).tables for one in (made, less))
        assert before.keys() == after.keys()
        assert all(before[name].equals(after[name]) for name in before)
        packed = zstandard.ZstdCompressor(level=LEVEL).compress(less.read_bytes())
    (kept / f"{made.name}.zst").write_bytes(packed)


def _without_uuids(export: Path) -> None:
    with closing(sqlite3.connect(export)) as file:
        uuids = [uuid for (uuid,) in file.execute("SELECT uuid FROM TARGET_INFO_GPU")]
    content = export.read_bytes()
    for uuid in uuids:
        assert len(uuid) == len(NO_UUID)  # so that the file's structure stays
        content = content.replace(uuid.encode(), NO_UUID.encode())
    export.write_bytes(content)


def _without_code(report: Path, kept: Path) -> None:
    content = report.read_bytes()
    with report.open("rb") as file, kept.open("wb") as less:
        file.seek(4)
        framing.message(report, file, len(content))
        less.write(content[: file.tell()])
        while (start := file.tell()) < len(content):
            header = framing.fields(report, framing.message(report, file, len(content)))
            (payload,) = header.get(framing.PAYLOAD_SIZE, [0])
            assert isinstance(payload, int)
            end = file.seek(payload, os.SEEK_CUR)
            if not any(header.get(framing.SOURCES, [])):
                less.write(content[start:end])


if __name__ == "__main__":
    made, kept = (Path(argument) for argument in sys.argv[1:])
    for kind in ("*.sqlite", "*.json.gz", "*.ncu-rep", "*.pickle"):
        for one in sorted(made.glob(kind)):
            keep(one, kept)
