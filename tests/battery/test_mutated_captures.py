"""Mutated captures: readers read or refuse each in one line, quickly and in little memory."""

from pathlib import Path

import pytest

from harness import confined
from harness.confined import Budget
from tests.support.battery import Figures, rounds
from tests.support.mutated_captures import SEEDS

IN_CI = {
    **dict.fromkeys(SEEDS, 600),
    "nsys": 400,
    "nsys in zstd": 400,
    "ncu": 24,
}
"""Mutants a reader: about nine seconds of a core each; nightly, fifty times as many."""
BATCH = 250
MOST_MEMORY, MOST_S = 2 << 30, 10.0


@pytest.mark.parametrize("form", SEEDS)
def test_every_mutant_is_read_or_refused_in_one_line(
    form: str, tmp_path: Path, figures: Figures
) -> None:
    count = rounds(IN_CI[form])
    counts = {"mutants": 0, "read": 0, "refused": 0, "slowest_s": 0.0}
    for first in range(0, count, BATCH):
        folder = tmp_path / str(first)
        folder.mkdir()
        size = min(BATCH, count - first)
        arguments = {"folder": str(folder), "form": form, "first": first, "count": size}
        allowed = Budget(MOST_MEMORY, cpu_s=size * MOST_S, wall_s=size * MOST_S)
        found = confined.call(
            "tests.support.mutated_captures:batch", folder, folder, arguments, allowed
        )
        assert found["faults"] == []
        counts["mutants"] += size
        counts["read"] += found["read"]
        counts["refused"] += found["refused"]
        counts["slowest_s"] = max(counts["slowest_s"], round(found["slowest_s"], 2))
    figures(**counts, tracebacks=0)
    assert counts["read"] + counts["refused"] == counts["mutants"]
    assert counts["slowest_s"] < MOST_S
