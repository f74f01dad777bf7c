"""The tuning set and the reported set are fair samples of one distribution, and share nothing."""

import math
from collections.abc import Callable
from statistics import median
from types import ModuleType

import pytest


@pytest.fixture
def shapes(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("shape_sets")


@pytest.mark.parametrize("seed", [0, 1, 2024])
def test_the_sets_share_no_shape_and_enough_is_reported(shapes: ModuleType, seed: int) -> None:
    reported, tuning = shapes.reported(seed), shapes.tuning(seed)
    assert not set(reported) & set(tuning)
    assert len(set(reported)) == len(reported) >= 200
    assert len(set(tuning)) == len(tuning)


def test_a_seed_names_a_set(shapes: ModuleType) -> None:
    assert shapes.reported(3) == shapes.reported(3)
    assert not set(shapes.reported(3)) <= set(shapes.reported(4))


def test_drawn_sizes_keep_their_bounds_and_multiples(shapes: ModuleType) -> None:
    drawn = shapes.drawn(shapes.random.Random(5), 300)
    for index, shape in enumerate(drawn):
        multiple = shapes.MULTIPLES[index % 3]
        bounds = zip(shape, shapes.SMALLEST, shapes.LARGEST, strict=True)
        assert all(low <= size <= high and size % multiple == 0 for size, low, high in bounds)


def test_sizes_are_log_uniform(shapes: ModuleType) -> None:
    """The median is the bounds' geometric mean, 128 for M and N, and 1448 for K."""
    drawn = shapes.drawn(shapes.random.Random(7), 3000)[2::3]
    m, n, k = (median(math.log2(shape[side]) for shape in drawn) for side in range(3))
    assert (m, n, k) == pytest.approx((7, 7, 10.5), abs=0.6)


def test_wide_shapes_are_passes_over_weights_and_tuned_on(shapes: ModuleType) -> None:
    wide = shapes.wide()
    assert len(set(wide)) == len(wide) == shapes.WIDE
    assert all(n * k >= 2**23 and n % 128 == k % 128 == 0 for _, n, k in wide)
    assert all(1 <= m <= 512 and max(n, k) <= 32768 for m, n, k in wide)
    assert median(m for m, _, _ in wide) == pytest.approx(math.sqrt(512), rel=0.4)
    assert set(wide) - set(shapes.reported()) <= set(shapes.tuning())


def test_real_shapes_hold_the_layers_and_both_gradients(shapes: ModuleType) -> None:
    real = set(shapes.real())
    assert (4096, 28672, 4096) in real  # Llama-3 8B, gate and up, of 4096 tokens
    assert {(1, 8192, 28672), (16384, 8192, 28672)} <= real  # 70B, down
    assert {(1024, 768, 3072), (3072, 768, 1024)} <= real  # GPT-2, the two gradients of a layer


def test_alignment_is_that_of_the_rows(shapes: ModuleType) -> None:
    def of(shape: tuple[int, int, int], layout: str) -> int:
        return int(shapes.multiple_of(shapes.Problem(shape, layout)))

    assert of((7, 512, 256), "nn") == 256  # rows of K and N; M has no part in it
    assert of((7, 512, 256), "tn") == 1  # a transposed A has rows of M
    assert of((1, 512, 256), "tn") == 256  # one of a single column lies as a row
    assert of((256, 512, 264), "nn") == 8
    assert of((256, 512, 257), "nt") == 1
    assert of((256, 512, 257), "tn") == 256  # no row is of K


def test_a_part_of_the_problems_has_all_shapes_and_all_layouts(shapes: ModuleType) -> None:
    every, layouts = shapes.reported(), ("nn", "nt", "tn", "tt")
    problems = shapes.in_turn(every, layouts)
    assert len(set(problems)) == len(problems) == len(every) * len(layouts)
    first = problems[: len(every)]
    assert [shape for shape, _ in first] == every
    for multiple in shapes.MULTIPLES:  # no kind of shape in one layout only
        kind = [each[1] for each in first if shapes.multiple_of(shapes.Problem(*each)) == multiple]
        assert all(kind.count(layout) > len(kind) / 8 for layout in layouts)
