"""Mutated captures: each command answers or refuses in one line, quickly and in little memory."""

from pathlib import Path

import pytest

from harness.ground import confined
from harness.ground.confined import Budget
from tests.support import mutated_captures
from tests.support.battery import SEED, Figures, rounds
from tests.support.mutated_captures import FORMS

MUTANTS = {
    "torch": 150,
    "torch in gzip": 600,
    "torch in zstd": 200,
    "torch, values": 45,
    "nsys": 60,
    "nsys in zstd": 150,
    "nsys, values": 55,
    "ncu": 24,
    "ncu, values": 24,
    "memory as JSON": 200,
    "memory in gzip": 600,
    "memory as JSON, values": 36,
    "memory as a pickle": 200,
    "memory as an old pickle": 200,
    "memory as a pickle, values": 36,
}
"""Mutants a form that `make battery` makes: up to five seconds of a core each."""
BATCH = 250
MOST_MEMORY, MOST_S = 2 << 30, 10.0
COUNTED = ("read", "refused", "commands", "declined")


@pytest.mark.parametrize("form", FORMS)
def test_every_mutant_is_answered_or_refused_in_one_line(
    form: str, tmp_path: Path, figures: Figures
) -> None:
    count = rounds(MUTANTS[form])
    counts = {"mutants": 0, **dict.fromkeys(COUNTED, 0), "slowest_s": 0.0}
    for first in range(0, count, BATCH):
        folder = tmp_path / str(first)
        folder.mkdir()
        size = min(BATCH, count - first)
        number = SEED * count + first
        arguments = {"folder": str(folder), "form": form, "first": number, "count": size}
        allowed = Budget(MOST_MEMORY, cpu_s=size * MOST_S, wall_s=size * MOST_S)
        found = confined.call(mutated_captures.batch, folder, folder, arguments, allowed)
        assert found["faults"] == []
        counts["mutants"] += size
        for name in COUNTED:
            counts[name] += found[name]
        counts["slowest_s"] = max(counts["slowest_s"], round(found["slowest_s"], 2))
    figures(**counts, tracebacks=0)
    assert counts["read"] + counts["refused"] == counts["mutants"]
    assert counts["commands"] + counts["declined"] >= counts["read"]
    assert counts["slowest_s"] < MOST_S
