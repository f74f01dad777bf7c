"""from_any.cuh on the CPU: a stage holds the operand as TMA would place it, loads are inside."""

import ctypes
import random
import re
from pathlib import Path

import pytest

from tests.support.hgemm import ANY_SHAPE, FOLDER, compiled

STEP, CHUNK, LINE, BOX = 64, 8, 128, 64 * 128
"""K of a step; elements of 16 bytes; bytes of a row and of a box of a stage."""
UNTOUCHED = 0x7FC0
CUDA = """
#pragma once
#include <cstring>
#include "layout.cuh"
#include "vectors.cuh"
struct element { uint16_t bits; };
struct Index { int x; };
inline Index threadIdx;
inline const char *first, *last; // of the operand's memory, in pieces of 16 bytes
inline int faults;
inline uint4 vector_at(const uint4* from) {
  const char* at = reinterpret_cast<const char*>(from);
  const bool inside = at >= first && at + 16 <= last && reinterpret_cast<uintptr_t>(at) % 16 == 0;
  faults += !inside;
  return inside ? *from : uint4{};
}
inline char stage[2 * 64 * 128];
"""
EXPORTS = """
#include "from_any.cuh"
template <int MN, int SPAN>
int load(const uint16_t* memory, const int* of, int along0, int k0, char* to) {
  const int begin = of[0], along = of[1], k = of[2], pitch = of[3];
  const auto* data = reinterpret_cast<const element*>(memory) + begin;
  const int rows = MN ? k : of[4], columns = MN ? of[4] : k; // of the whole matrix
  const auto address = reinterpret_cast<uintptr_t>(data);
  const auto end = address + 2 * ((rows - 1) * static_cast<int64_t>(pitch) + columns);
  first = reinterpret_cast<const char*>(address & -16), faults = 0;
  last = reinterpret_cast<const char*>((end + 15) & -16);
  std::memcpy(stage, to, sizeof stage);
  for (threadIdx.x = 0; threadIdx.x < 128; ++threadIdx.x)
    FromAny<MN, SPAN>(Operand{data, along, k, pitch}, along0).load(0, k0);
  std::memcpy(to, stage, sizeof stage);
  return faults;
}
extern "C" int c_load(int mn, int span, const uint16_t* memory, const int* of, int along0, int k0,
                      char* to) {
  if (mn) return span == 64 ? load<1, 64>(memory, of, along0, k0, to)
                            : load<1, 128>(memory, of, along0, k0, to);
  return span == 8    ? load<0, 8>(memory, of, along0, k0, to)
         : span == 64 ? load<0, 64>(memory, of, along0, k0, to)
                      : load<0, 128>(memory, of, along0, k0, to);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The kernels' header, with PTX replaced by what it does."""
    folder = tmp_path_factory.mktemp("from_any")
    (folder / "layout.cuh").write_text((FOLDER / "kernels/layout.cuh").read_text(encoding="utf-8"))
    (folder / "vectors.cuh").write_text(Path(__file__).with_name("vectors.h").read_text())
    (folder / "common.cuh").write_text(CUDA + f"constexpr int TILE_K = {STEP};\n")
    for name in ("realign.cuh", "from_any.cuh"):
        text = (ANY_SHAPE / "kernels" / name).read_text(encoding="utf-8")
        for pattern, by in (
            (r'asm volatile\("\{ \.reg \.pred wanted.*?\);', "if (wanted) v = vector_at(from);"),
            (
                r'asm volatile\("st\.shared.*?\);',
                "std::memcpy(stage + to + place_ + i * APART * 128, &v, 16);",
            ),
        ):
            text = re.sub(pattern, by, text, flags=re.DOTALL)
        assert "asm" not in text
        (folder / name).write_text(text)
    return compiled(folder, EXPORTS, folder)


@pytest.mark.parametrize(("mn", "span"), [(0, 8), (0, 64), (0, 128), (1, 64), (1, 128)])
def test_a_stage_holds_the_operand_and_no_load_is_outside(
    library: ctypes.CDLL, mn: int, span: int
) -> None:
    source = random.Random(span + mn)
    for _ in range(60):
        along = source.choice((1, 5, 8, span - 1, span, span + 1, 2 * span + source.randrange(70)))
        k = source.choice((1, 63, 64, 65, 71, 72, 73, 128, source.randrange(1, 400)))
        rows, columns = (k, along) if mn else (along, k)
        pitch = columns + source.choice((0, 0, 1, source.randrange(40)))
        begin = source.randrange(16)
        values = [source.randrange(1 << 16) for _ in range(begin + rows * pitch + 64)]
        memory = (ctypes.c_uint16 * (len(values) + CHUNK))()
        shift = -ctypes.addressof(memory) % 16 // 2  # so that begin is counted from 16 bytes
        ctypes.memmove(
            ctypes.addressof(memory) + 2 * shift,
            (ctypes.c_uint16 * len(values))(*values),
            2 * len(values),
        )
        along0 = source.randrange(-(-along // span)) * span
        end = source.choice((along, min(along, along0 + 1 + source.randrange(span))))
        k0 = source.randrange(-(-k // STEP)) * STEP
        stage = (ctypes.c_uint16 * BOX)(*[UNTOUCHED] * BOX)
        of = (ctypes.c_int * 5)(begin + shift, end, k, pitch, along)
        faults = library.c_load(mn, span, memory, of, along0, k0, stage)
        case = (begin, along, end, k, pitch, along0, k0)
        assert faults == 0, case
        for line in range(span):
            for step in range(STEP):
                row, column = (step, line) if mn else (line, step)
                box, within = divmod(column, STEP)
                chunk = (within // CHUNK) ^ (row % CHUNK)  # the swizzle of 128 bytes
                at = box * BOX + row * LINE + chunk * 16 + column % CHUNK * 2
                held = stage[at // 2]
                if along0 + line < end:
                    y, x = (k0 + step, along0 + line) if mn else (along0 + line, k0 + step)
                    wanted = values[begin + y * pitch + x] if k0 + step < k else 0
                    assert held == wanted, (*case, line, step)
                elif not mn:
                    assert held == UNTOUCHED, (*case, line, step)
