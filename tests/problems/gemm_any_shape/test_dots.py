"""dots.cu on the CPU: every product right, every load inside, every element stored once.

A fiber for each thread of a cluster stands in for the GPU (``emulated.h``); the few PTX statements
are replaced by what they do. Operands lie at any address with any pitch, among NaN.
"""

import ctypes
import random
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.hgemm import ANY_SHAPE, FOLDER, compiled

RUN = """
struct Side {
  int lines, length, pitch, first; // `first`: its place in memory
};
static int at(const Side& side, int along_k, int row, int k) {
  return side.first + (along_k ? row * side.pitch + k : k * side.pitch + row);
}
static void fill(const Side& side, uint32_t& seed) {
  for (int i = 0; i < side.lines; ++i)
    for (int j = 0; j < side.length; ++j) {
      seed = seed * 1664525u + 1013904223u;
      memory[side.first + i * side.pitch + j] = rounded(static_cast<int>(seed >> 24) % 7 - 3);
      exists[side.first + i * side.pitch + j] = true;
    }
}
static void begin();
// Return how many elements of C are wrong or not stored once, and how many accesses are outside.
extern "C" int c_dots(const int* sizes, int few_rows, int tiles, int ways, int slices, int* wrong) {
  const int w = sizes[0], s = sizes[1], k = sizes[2];
  const Side x{X_MN ? k : w, X_MN ? w : k, sizes[3], sizes[4]};
  const Side y{Y_MN ? k : s, Y_MN ? s : k, sizes[5], sizes[6]};
  const Side c{few_rows ? s : w, few_rows ? w : s, sizes[7], sizes[8]};
  std::fill(memory, memory + ROOM, 0x7FC0);
  std::fill(exists, exists + ROOM, false);
  std::fill(stores, stores + ROOM, 0);
  uint32_t seed = 1;
  fill(x, seed), fill(y, seed);
  faults = 0, cluster = slices;
  std::vector<std::vector<char>> stacks(slices * 256, std::vector<char>(1 << 14));
  for (int block_y = 0; block_y < (s + 7) / 8; ++block_y)
    for (int tile = 0; tile < tiles; ++tile) {
      fibers.assign(slices * 256, Fiber{});
      warps.assign(slices * 8, Barrier{}), blocks.assign(slices, Barrier{}), whole = Barrier{};
      fragments.assign(slices * 8, Fragments{});
      shared.assign(slices, std::vector<float>(SHARED_FLOATS, as_float(0x7FC0)));
      arguments = {x.first, y.first, c.first, x.pitch, y.pitch, c.pitch, w, s, k, ways, few_rows};
      for (int i = 0; i < slices * 256; ++i) {
        Fiber& fiber = fibers[i];
        const int rank = i / 256;
        fiber.thread = {i % 256, 0}, fiber.block = {tile * slices + rank, block_y};
        fiber.rank = rank;
        getcontext(&fiber.context);
        fiber.context.uc_stack.ss_sp = stacks[i].data();
        fiber.context.uc_stack.ss_size = stacks[i].size();
        fiber.context.uc_link = &scheduler;
        makecontext(&fiber.context, begin, 0);
      }
      for (int left = slices * 256; left > 0;)
        for (now = 0; now < slices * 256; ++now)
          if (!fibers[now].ended) {
            swapcontext(&scheduler, &fibers[now].context);
            left -= fibers[now].ended;
          }
    }
  *wrong = 0;
  int outside = faults;
  for (int i = 0; i < ROOM; ++i) outside += stores[i];
  for (int row = 0; row < w; ++row)
    for (int column = 0; column < s; ++column) {
      float sum = 0;
      for (int i = 0; i < k; ++i)
        sum += as_float(memory[at(x, !X_MN, row, i)]) * as_float(memory[at(y, !Y_MN, column, i)]);
      const int to = c.first + (few_rows ? column * c.pitch + row : row * c.pitch + column);
      *wrong += memory[to] != rounded(sum) || stores[to] != 1;
      outside -= stores[to];
    }
  return outside;
}
static void begin() {
  const Arguments& of = arguments;
  element* cells = reinterpret_cast<element*>(memory);
  const int64_t down = of.few_rows ? 1 : of.pitch_c, across = of.few_rows ? of.pitch_c : 1;
  dots(cells + of.x, cells + of.y, cells + of.c, of.pitch_x, of.pitch_y, down, across, of.w, of.s,
       of.k, of.ways);
  fibers[now].ended = true;
}
"""
ARGUMENTS = """
struct Arguments {
  int x, y, c, pitch_x, pitch_y, pitch_c, w, s, k, ways, few_rows;
};
static Arguments arguments;
"""


def emulated(name: str) -> str:
    """Return one of the kernel's sources with PTX replaced by what it does."""
    text = (ANY_SHAPE / "kernels" / name).read_text(encoding="utf-8")
    for pattern, by in (
        (r'asm volatile\("\{ \.reg \.pred wanted; setp.*?\);', "if (wanted) v = vector_at(from);"),
        (r'asm volatile\("\{ \.reg \.pred wanted; \.reg.*?\);', "v = wanted ? one_at(from) : 0;"),
        (r'asm volatile\("" : .*?\);', ""),
        (r"__shared__ __align__\(16\) float sums\[.*?\];", "float* sums = shared_floats(0);"),
        (r"__shared__ float added\[.*?\];", "float* added = shared_floats(WARPS * PITCH);"),
        (r'#include "(?:cluster|common)\.cuh"\n', ""),
        (r"#pragma unroll\n", ""),
    ):
        text = re.sub(pattern, by, text, flags=re.DOTALL)
    assert "asm" not in text
    return text


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("dots")
    (to / "layout.cuh").write_text((FOLDER / "kernels/layout.cuh").read_text(encoding="utf-8"))
    (to / "dots.cuh").write_text(emulated("dots.cuh"))
    (to / "realign.cuh").write_text(emulated("realign.cuh"))
    for name in ("emulated", "vectors"):
        (to / f"{name}.cuh").write_text(Path(__file__).with_name(f"{name}.h").read_text())
    return to


VARIANTS = [
    (rows, loads, y_mn)
    for rows, loads in ((16, 4), (16, 8), (32, 8), (64, 8), (128, 8))
    for y_mn in (0, 1)
]


@pytest.mark.parametrize(("rows", "loads", "y_mn"), VARIANTS)
def test_products_are_right_and_nothing_outside_is_touched(
    folder: Path, module: Callable[[str], ModuleType], rows: int, loads: int, y_mn: int
) -> None:
    dots, general, ladder = module("dots"), module("general"), module("ladder")
    x_mn = rows >= 64
    layout = ("t" if x_mn else "n") + ("n" if y_mn else "t")
    step = dots.dotted(dots.Dots(few_rows=False, rows=rows, loads=loads), layout)
    text = f'#include "emulated.cuh"\n{emulated("dots.cu")}{ARGUMENTS}'
    text += "constexpr int SHARED_FLOATS = WARPS * PITCH + ROWS * TILE_N;\n" + RUN
    library = compiled(folder, text, folder, **step.macros)
    source = random.Random(rows * loads + y_mn)

    def pitch(length: int) -> int:
        return length + source.choice((0, 0, -length % 8, source.randrange(9)))

    for turn in range(24):
        w = source.choice((1, 3, 9, rows - 1, rows + 1, 2 * rows + source.randrange(60)))
        s = source.choice((1, 2, 5, 8, 11))
        k = source.choice((1, 7, 33, 200, 1100, source.randrange(1, 500)))
        x_first = 64 + source.choice((0, source.randrange(8)))
        pitch_x = pitch(w if x_mn else k)
        y_first = x_first + pitch_x * (k if x_mn else w) + 64 + source.choice((0, 8, 3))
        pitch_y = pitch(s if y_mn else k)
        c_first = y_first + pitch_y * (k if y_mn else s) + 64
        few_rows = turn % 2
        pitch_c = (w if few_rows else s) + source.choice((0, 3))
        ways = 8 if x_mn else source.choice((1, 2, 4, 8))
        slices = source.choice((1, 2, 4, 8)) if ways == 8 else 1
        matrix = module("packing").Matrix(x_first * ladder.ELEMENT_BYTES, 0, 0, pitch_x)
        tiles = general.dots_tiles(matrix, w, step, ways)
        values = (w, s, k, pitch_x, x_first, pitch_y, y_first, pitch_c, c_first)
        assert c_first + pitch_c * max(w, s) < 1 << 19
        wrong = ctypes.c_int(-1)
        sizes = (ctypes.c_int * len(values))(*values)
        outside = library.c_dots(sizes, few_rows, tiles, ways, slices, ctypes.byref(wrong))
        assert (outside, wrong.value) == (0, 0), (values, few_rows, ways, slices)
