"""The shapes to tune on and the shapes to report: drawn with a seed, and those of real models.

Both sets are of one distribution and share no shape. Sizes are drawn log-uniformly; a third of the
drawn shapes has multiples of 256, a third multiples of 8, a third any numbers. The tuning set has
more shapes where choices cost most: of few tiles, and of few rows and wide weights.

``python shape_sets.py reported --seed 1`` prints a set, one shape a line.
"""

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence

from ladder import Shape
from plans import Problem, as_read, mnk

SEED = 29
"""The seed of the reported set. No kernel or constant was made with a look at its drawn shapes."""
SCARCE = 250
"""Shapes that are tuned on beside the sets: few tiles and a long K, where choices cost most."""
SCARCE_LEAST, SCARCE_TILES, TILE = (1, 1, 2048), 132, 128
"""Of those: the smallest M, N and K, and the most tiles of 128 by 128 that cover C."""
WIDE = 320
"""Shapes that are tuned on beside the sets as well: few rows and wide weights, as of a layer."""
WIDE_LEAST, WIDE_MOST, WIDE_MULTIPLES = (1, 1024, 1024), (512, 32768, 32768), (1, 128, 128)
"""Of those: the smallest and largest M, N and K, and what they are multiples of."""
WEIGHTS = 2**23
"""Of those: the fewest elements of the weights, 16 MiB of bf16."""
TUNED = (28, 27, 26, 23, 22, 25, 24, *range(21, -1, -1))
"""Other seeds, whose shapes are tuned on as far as none of them is reported."""
MULTIPLES = (256, 8, 1)
"""What M, N and K are multiples of, in turn."""
LARGEST = (16384, 16384, 32768)
SMALLEST = (1, 1, 64)
DRAWN = {"tuning": 96, "reported": 150}
REAL = {"tuning": 40, "reported": 66}
"""How many shapes of each set are drawn, and how many are of real models."""
ROWS = tuple(2**power for power in range(15))
"""Tokens of a forward pass: 1 in decoding, up to 16384 in training."""

SEEN: tuple[Shape, ...] = (
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (5000, 5000, 5000),
    (4097, 4104, 4104),
    (4097, 4097, 4097),
    (1000, 7000, 3000),
    (16, 4096, 4096),
    (768, 3072, 24576),
    (1536, 1536, 1536),
    (11000, 2560, 10240),
    (6144, 6144, 6144),
    (128, 4096, 4096),
    (3072, 3072, 3072),
)
"""Shapes that were looked at while the kernels were written: tuned on, never reported."""

ODD: tuple[Shape, ...] = (
    (1, 1, 1),
    (3, 5, 7),
    (1, 1, 64),
    (1, 8, 64),
    (3, 17, 65),
    (7, 129, 200),
    (2, 50304, 77),
    (8, 4097, 1030),
    (8, 4096, 512),
    (16, 4097, 4099),
    (33, 1000, 999),
    (64, 64, 64),
    (65, 127, 1000),
    (100, 300, 1000),
    (128, 256, 512),
    (129, 129, 4097),
    (257, 776, 2056),
    (300, 5, 5000),
    (5000, 7, 300),
    (1000, 24, 2048),
    (512, 3072, 1024),
    (1000, 1000, 1000),
    (1001, 999, 1003),
    (2048, 2048, 520),
    (2367, 4582, 1134),
    (4097, 1030, 264),
    (4352, 512, 1792),
    (4352, 1024, 768),
    (1849, 3160, 280),
)
"""Shapes to check before any is timed: every kernel takes some of them. Of the three before the
last, an earlier cut of K gave some units no step, and the products were wrong."""

LLAMA_8B = ((6144, 4096), (4096, 4096), (28672, 4096), (4096, 14336))
LLAMA_70B = ((10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672))
MIXTRAL = ((14336, 4096), (4096, 14336))
GPT2 = ((2304, 768), (768, 768), (3072, 768), (768, 3072), (50304, 768))
"""N and K of the linear layers: attention's input and output, the two of the feed-forward network
(Llama's first holds gate and up); of an expert; GPT-2's fifth is its head, padded as in llm.c."""


def drawn(
    source: random.Random, count: int, smallest: Shape = SMALLEST, most_tiles: float = math.inf
) -> list[Shape]:
    """Return ``count`` different shapes, an equal share of each of ``MULTIPLES``.

    ``most_tiles``: of ``TILE`` by ``TILE`` that cover C.
    """
    shapes: dict[Shape, None] = {}
    while len(shapes) < count:
        multiple = MULTIPLES[len(shapes) % len(MULTIPLES)]
        m, n, k = (
            _log_uniform(source, max(low, multiple), high, multiple)
            for low, high in zip(smallest, LARGEST, strict=True)
        )
        if -(-m // TILE) * -(-n // TILE) <= most_tiles:
            shapes[m, n, k] = None
    return list(shapes)


def _log_uniform(source: random.Random, low: int, high: int, multiple: int) -> int:
    """Return a multiple whose logarithm is uniform between those of the bounds."""
    value = math.exp(source.uniform(math.log(low), math.log(high)))
    return min(high, max(low, round(value / multiple) * multiple))


def real() -> list[Shape]:
    """Return the shapes of linear layers: forward at every M; for GPT-2 also both gradients.

    The gradient of the input is M by K by N, that of the weight N by K by M.
    """
    forward = [(m, n, k) for n, k in (*LLAMA_8B, *LLAMA_70B, *MIXTRAL, *GPT2) for m in ROWS]
    tokens = [m for m in ROWS if m >= 1024]
    gradients = [shape for n, k in GPT2 for m in tokens for shape in ((m, k, n), (n, k, m))]
    return list(dict.fromkeys((*forward, *gradients)))


def tuning(seed: int = SEED) -> list[Shape]:
    """Return the shapes on which constants are fitted and choices are made.

    The last seeds come first: a run of limited time measures shapes that none before it reached.
    """
    judged = set(reported(seed))
    sets = (_sets(other) for other in TUNED if other != seed)
    apart = (shape for both in sets for part in both.values() for shape in part)
    others = (shape for shape in apart if shape not in judged)
    few = (shape for shape in (*scarce(), *wide()) if shape not in judged)
    return [*dict.fromkeys((*SEEN, *few, *others, *_sets(seed)["tuning"]))]


def scarce(seed: int = SEED) -> list[Shape]:
    """Return shapes of few tiles and a K of 2048 or more."""
    source = random.Random(seed + SCARCE)  # noqa: S311 - a sample, not a secret
    return drawn(source, SCARCE, SCARCE_LEAST, SCARCE_TILES)


def wide(seed: int = SEED) -> list[Shape]:
    """Return shapes of few rows and wide weights."""
    source = random.Random(seed + SCARCE + WIDE)  # noqa: S311 - a sample, not a secret
    shapes: dict[Shape, None] = {}
    while len(shapes) < WIDE:
        m, n, k = (
            _log_uniform(source, *bounds)
            for bounds in zip(WIDE_LEAST, WIDE_MOST, WIDE_MULTIPLES, strict=True)
        )
        if n * k >= WEIGHTS:
            shapes[m, n, k] = None
    return list(shapes)


def reported(seed: int = SEED) -> list[Shape]:
    """Return the shapes that are reported; none of them is in the tuning set of the same seed."""
    return _sets(seed)["reported"]


def _sets(seed: int) -> dict[str, list[Shape]]:
    """Return both sets: drawn and real shapes alternate, so that a part is a fair sample."""
    source = random.Random(seed)  # noqa: S311 - a sample, not a secret
    unseen = [shape for shape in real() if shape not in SEEN]
    models = source.sample(unseen, sum(REAL.values()))
    numbers = drawn(source, 2 * sum(DRAWN.values()))
    free = iter([shape for shape in numbers if shape not in {*models, *SEEN}])
    sets = {}
    for name, count in DRAWN.items():
        part, models = models[: REAL[name]], models[REAL[name] :]
        sets[name] = list(_mixed([next(free) for _ in range(count)], part))
    return sets


def _mixed(first: list[Shape], second: list[Shape]) -> Iterator[Shape]:
    """Yield both lists, each in its order, spread evenly over the other."""
    places = [(index / len(first), shape) for index, shape in enumerate(first)]
    places += [((index + 0.5) / len(second), shape) for index, shape in enumerate(second)]
    return (shape for _, shape in sorted(places, key=lambda place: place[0]))


def in_turn(shapes: Sequence[Shape], layouts: Sequence[str]) -> list[tuple[Shape, str]]:
    """Return every shape in every layout, so ordered that a part has all shapes and all layouts.

    First each shape in one layout, the layouts taking turns; then each in its next one.
    """
    return [
        (shape, layouts[(place + turn) % len(layouts)])
        for turn in range(len(layouts))
        for place, shape in enumerate(shapes)
    ]


def multiple_of(problem: Problem) -> int:
    """Return the largest of ``MULTIPLES`` that divides the rows of A, B and C, in elements.

    Rows as they lie in memory, the leading dimensions: those of a transposed A are M long. A column
    of contiguous elements is a row.
    """
    lengths = [columns for _, columns in as_read(problem).stored]
    return next(multiple for multiple in MULTIPLES if not any(each % multiple for each in lengths))


SETS = {"tuning": tuning, "reported": reported}


def main() -> int:
    """Print a set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("--seed", type=int, default=SEED, help="those in TUNED were tuned on")
    options = parser.parse_args()
    for shape in SETS[options.set](options.seed):
        print(mnk(shape))
    return 0


if __name__ == "__main__":
    sys.exit(main())
