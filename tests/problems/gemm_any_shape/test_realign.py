"""Eight elements from any address, out of two aligned loads."""

import ctypes
import random
import struct
from pathlib import Path

import pytest

from tests.support.hgemm import ANY_SHAPE, compiled

EXPORTS = """
#include "realign.cuh"
extern "C" void c_realign(const uint4* pair, uint32_t shift, int valid, uint4* to) {
  const uint4 both[2] = {pair[0], pair[1]};
  *to = cut(shifted(both, shift), valid);
}
"""


@pytest.fixture(scope="module")
def realign(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The arithmetic of kernels/realign.cuh; its loads are PTX and stay out."""
    folder = tmp_path_factory.mktemp("realign")
    text = (ANY_SHAPE / "kernels/realign.cuh").read_text(encoding="utf-8")
    arithmetic, loads = text.split("// Not the read-only path")
    assert "asm" in loads
    (folder / "common.cuh").write_text(Path(__file__).with_name("vectors.h").read_text())
    (folder / "realign.cuh").write_text(arithmetic)
    return compiled(folder, EXPORTS, Path(folder))


@pytest.mark.parametrize("shift", range(0, 16, 2))
@pytest.mark.parametrize("valid", [-3, 0, 1, 2, 5, 7, 8, 100])
def test_the_elements_after_the_shift_and_zeros_after_the_last(
    realign: ctypes.CDLL, shift: int, valid: int
) -> None:
    elements = random.Random(0).sample(range(1, 1 << 16), 16)
    out = ctypes.create_string_buffer(16)
    realign.c_realign(struct.pack("<16H", *elements), shift, valid, out)
    wanted = elements[shift // 2 : shift // 2 + 8]
    kept = max(0, min(valid, 8))
    assert list(struct.unpack("<8H", out.raw)) == wanted[:kept] + [0] * (8 - kept)
