"""Operations counted from SASS: by hand for an opcode, by a product's size for a whole launch."""

import polars as pl
import pytest

from harness.analysis import flop
from harness.evidence.subject import Subject
from harness.evidence.tables import frame
from harness.extract import door
from tests.support.paths import ROOT

REPORT = ROOT / "reports" / "4-custom-hgemm" / "nvidia-h200"


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("FFMA", ("fp32", 64.0)),
        ("FADD.FTZ", ("fp32", 32.0)),
        ("FFMA2", ("fp32", 128.0)),
        ("HMMA.16816.F32.BF16", ("bf16", 2.0 * 16 * 8 * 16)),
        ("HMMA.16816.F32", ("fp16", 2.0 * 16 * 8 * 16)),
        ("HMMA.1688.F32.TF32", ("tf32", 2.0 * 16 * 8 * 8)),
        ("QMMA.16832.F32.E4M3.E4M3", ("fp8", 2.0 * 16 * 8 * 32)),
        ("HGMMA.64x128x16.F32.BF16", ("bf16", 2.0 * 64 * 128 * 16 / 4)),
        ("QGMMA.64x256x32.F32.E4M3.E4M3", ("fp8", 2.0 * 64 * 256 * 32 / 4)),
        ("IADD3", ("", 0.0)),
        ("HFMA2.MMA", ("", 0.0)),
        ("IMMA.16832.S8.S8", None),
        ("HMMA.SP.16832.F32", None),
        ("DMMA.8x8x4", None),
    ],
)
def test_an_opcode_says_what_a_warp_computes(word: str, expected: tuple[str, float] | None) -> None:
    assert flop.of_instruction(word) == expected


def instructions(*rows: tuple[int, str, int | None]) -> pl.DataFrame:
    launches, sass, executed = zip(*rows, strict=True)
    return frame("instructions", {"launch": launches, "sass": sass, "executed": executed})


def test_a_launch_sums_its_instructions_by_kind() -> None:
    counted = flop.per_launch(
        instructions(
            (0, "      FFMA R1, R2, R3, R4", 10),
            (0, "@P0   FADD R1, R2, R3", 5),
            (0, "      HMMA.16816.F32.BF16 R4, R8, R2, R4", 3),
            (1, "      MOV R1, R2", 7),
        )
    )
    assert counted == {0: {"fp32": 10 * 64.0 + 5 * 32.0, "bf16": 3 * 4096.0}, 1: {}}


@pytest.mark.parametrize(
    "row", [(0, "      IMMA.16832.S8.S8 R4, R8, R2, R4", 1), (0, "EXIT", None)]
)
def test_a_launch_that_is_not_understood_whole_is_not_counted(
    row: tuple[int, str, int | None],
) -> None:
    assert flop.per_launch(instructions((0, "FFMA R1, R2, R3, R4", 1), row)) == {}


@pytest.mark.parametrize("variant", ["h10", "p0", "p8", "torch"])
def test_a_product_of_matrices_does_the_operations_of_its_size(variant: str) -> None:
    """``h10`` computes in wgmma, ``p0`` in mma, the others as their authors chose: 4096³ each."""
    subject = door.opened(f"{REPORT}:square-4096.{variant}")
    assert isinstance(subject, Subject)
    (counted,) = flop.per_launch(subject.captures["ncu"].tables["instructions"]).values()
    assert counted["bf16"] == 2 * 4096**3
