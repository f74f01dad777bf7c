"""Every problem has plans, and each plan is one that its kernel can run."""

import itertools
import json
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.support.hgemm import ANY_SHAPE

SHAPES = [
    (1, 1, 64),
    (1, 4096, 4096),
    (16, 4096, 4096),
    (4097, 4104, 4104),
    (5000, 5000, 5000),
    (1000, 7000, 3000),
    (333, 7, 12345),
    (61, 36, 30492),
    (4352, 1024, 768),  # few tiles are left over, of few steps
    (16384, 16384, 32768),
]
CASES = list(itertools.product(SHAPES, ("nn", "nt", "tn", "tt")))


@pytest.fixture
def plans(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("plans")


@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_units_have_work_and_memory_suffices(
    plans: ModuleType,
    module: Callable[[str], ModuleType],
    shape: tuple[int, int, int],
    layout: str,
) -> None:
    problem = plans.Problem(shape, layout)
    found = plans.plans(problem)
    assert found
    assert len({plan.name for plan in found}) == len(found)
    steps = -(-shape[2] // 64)
    step_module = module("step")
    for plan in found:
        step = plan.step(problem)
        assert step.shared_bytes <= step_module.MAX_SHARED
        folders = ANY_SHAPE, ANY_SHAPE.parent / "4-custom-hgemm"
        assert any((folder / "kernels" / step.file).exists() for folder in folders)
        if step.source == "stream_k" and plan.spread:
            assert plan.spread * steps >= plan.units
            counters = plan.spread * step.cluster[0] * step.cluster[1] * 2
            assert 4 * counters <= module("general").COUNTERS
        if step.source == "sliced":
            assert plan.spread == 1 or steps >= plan.spread * plan.units
            assert step.macros["LOADERS"] <= step.stages
            assert step.threads <= 1024
        assert plan.units >= 1
        assert any(plan.copied) == (plan.copied != (False, False))


@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_tma_reads_only_rows_at_multiples_of_16_bytes(
    plans: ModuleType, shape: tuple[int, int, int], layout: str
) -> None:
    problem = plans.Problem(shape, layout)
    read = plans.as_read(problem)
    a, b, c = read.aligned
    needed, (m, n, _) = (not a, not b), shape
    lines = (  # copied as well where rows lie in two lines and enough tiles read them
        not a or (read.stored[0][1] % 64 > 0 and n >= 1536),
        not b or (read.stored[1][1] % 64 > 0 and m >= 1536),
    )
    for plan in plans.plans(problem):
        step = plan.step(problem)
        if step.maps == "abc" and step.source not in ("stream_k", "ping_pong"):  # the ladder's
            assert a
            assert b
            assert c
        elif step.source == "split_k":
            assert plan.copied == needed
            assert "TMA_STORE" not in step.macros
        elif step.maps == "abc":
            assert plan.copied in (needed, lines)
            assert step.macros["TMA_STORE"] == c
        elif step.source != "dots":  # which takes rows as they lie
            few_rows = bool(step.macros["D_TRANSPOSED"])
            x, y = (b, a) if few_rows else (a, b)
            wide_copied, narrow_copied = plan.copied[::-1] if few_rows else plan.copied
            assert not wide_copied
            assert not (narrow_copied and (y or plan.config.transposed))
            y = y or plan.config.transposed or narrow_copied
            assert (step.macros["X_TMA"], step.macros["Y_TMA"]) == (x, y)


@pytest.mark.parametrize(
    ("shape", "layout", "offered"),
    [
        ((5112, 5112, 5112), "nn", {(False, False), (True, True)}),
        ((5120, 5120, 5120), "nn", {(False, False)}),  # every row begins at a line
        ((5119, 5119, 5119), "nn", {(True, True)}),  # TMA reads neither
        ((5120, 5112, 5120), "nn", {(False, False), (False, True)}),  # rows of B are N long
        ((5120, 5112, 5120), "nt", {(False, False)}),
        ((1024, 5112, 5112), "nt", {(False, False), (True, False)}),  # B is read by few tiles
        ((5112, 5119, 5112), "nn", {(False, True), (True, True)}),
        ((256, 256, 5112), "nt", {(False, False)}),
    ],
)
def test_rows_in_two_lines_may_be_copied_where_many_tiles_read_them(
    plans: ModuleType, shape: tuple[int, int, int], layout: str, offered: set[tuple[bool, bool]]
) -> None:
    problem = plans.Problem(shape, layout)
    streams = [plan for plan in plans.plans(problem) if plan.kernel.startswith("stream")]
    assert {plan.copied for plan in streams} == offered


def test_the_leading_size_is_that_of_the_rows_as_they_lie(plans: ModuleType) -> None:
    shape = (64, 24, 9)  # of M, N, K only K is odd
    aligned = {layout: plans.Problem(shape, layout).aligned for layout in ("nn", "nt", "tn", "tt")}
    assert aligned == {
        "nn": (False, True, True),
        "nt": (False, False, True),
        "tn": (True, True, True),
        "tt": (True, False, True),
    }


def test_a_single_row_needs_no_pitch_to_be_read(plans: ModuleType) -> None:
    assert plans.Problem((1, 8, 9), "nn").aligned[0]


def test_tma_writes_no_row_that_ends_within_16_bytes(plans: ModuleType) -> None:
    assert plans.Problem((1, 4096, 64)).aligned[2]
    assert not plans.Problem((1, 4097, 64)).aligned[2]


def test_the_model_prefers_slices_for_few_rows_and_large_tiles_for_many(
    module: Callable[[str], ModuleType], plans: ModuleType
) -> None:
    choose = module("model").choose
    assert choose(plans.Problem((16, 4096, 4096))).name.startswith("sliced")
    few_tiles = choose(plans.Problem((16, 1024, 16384)))  # 16 of 64, for 132 multiprocessors
    assert few_tiles.name.startswith("sliced")
    assert few_tiles.units * few_tiles.spread >= 4
    problem = plans.Problem((8192, 8192, 8192))
    for dram, least in ((module("device").H200, 128 * 144), (3.352e6, 128 * 192)):
        tile_m, tile_n, _ = choose(problem, dram).step(problem).tile
        assert tile_m * tile_n >= least


def test_a_loaded_byte_weighs_where_power_caps_the_clock(
    module: Callable[[str], ModuleType], plans: ModuleType
) -> None:
    """Each block of a lone one loads both operands; in pairs two load one of them together."""
    model, demand = module("model"), module("demand").demand

    def pair(problem: Any) -> tuple[list[Any], list[Any]]:
        """Return a plan of lone blocks, one of pairs, and their demands."""
        kernels = ("stream_128x256_c1x1_g16_s4", "stream_128x256_c2x1_g8_s4")
        every = plans.plans(problem)
        found = [next(p for p in every if p.kernel == each and not p.spread) for each in kernels]
        return found, [demand(plan, problem) for plan in found]

    class Slower:
        """Trees by which the paired plan takes longer by a share."""

        def __init__(self, us: dict[str, float], paired: str, share: float) -> None:
            self.us, self.paired, self.share = us, paired, share

        def knows(self, kernel: str) -> bool:
            return kernel in self.us

        def factor(self, kernel: str, values: list[float]) -> float:
            return float((1 + self.share * (kernel == self.paired)) / self.us[kernel])

    by = model.Constants(drawn=5.0)
    large, small = plans.Problem((8192, 8192, 4096)), plans.Problem((2048, 2048, 4096))
    _, (alone, paired) = pair(large)
    assert alone.loaded == 128 * (128 + 256) * 64 * 64 * 32  # bytes of a row, rows, steps, tiles
    assert paired.loaded == 128 * (128 + 128) * 64 * 64 * 32
    operations = 2 * 8192 * 8192 * 4096
    weight = 5.0 * math.log(operations / model.CAPPED) / operations
    worth = math.exp(weight * (alone.loaded - paired.loaded)) - 1
    assert 0.01 < worth < 0.1
    for problem, share, order in (
        (large, 0.9 * worth, [1, 0]),
        (large, 1.1 * worth, [0, 1]),
        (small, 0.001, [0, 1]),  # short of the cap
    ):
        found, demands = pair(problem)
        us = {plan.kernel: model.us(of, by) for plan, of in zip(found, demands, strict=True)}
        trees = Slower(us, found[1].kernel, share)
        assert model.ordered(problem, found, demands, by, trees) == order


def test_a_long_k_of_a_single_tile_goes_to_many_blocks(
    module: Callable[[str], ModuleType], plans: ModuleType
) -> None:
    problem = plans.Problem((61, 36, 30492))
    plan = module("model").choose(problem)
    assert module("demand").demand(plan, problem).blocks >= 64


def test_the_ladder_takes_no_rows_with_gaps(plans: ModuleType) -> None:
    shape = (512, 512, 512)
    packed = {plan.name for plan in plans.plans(plans.Problem(shape))}
    gaps = {plan.name for plan in plans.plans(plans.Problem(shape, packed=False))}
    assert any("/" not in name for name in packed)
    assert all("/" in name for name in gaps)


def test_ping_pong_consumers_cut_no_k(plans: ModuleType) -> None:
    """The ladder's take the one layout that they know."""
    for layout in ("nn", "nt"):
        problem = plans.Problem((2048, 4096, 768), layout)
        own = [plan for plan in plans.plans(problem) if plan.step(problem).source == "ping_pong"]
        assert bool(own) == (layout == "nt")
        assert not any(plan.spread for plan in own)
        assert any(plan.step(problem).ping_pong for plan in plans.plans(problem))


def test_a_vector_is_read_as_a_row_in_either_order(plans: ModuleType) -> None:
    names = {
        layout: {plan.name for plan in plans.plans(plans.Problem((1, 4096, 512), layout))}
        for layout in ("nn", "tn")
    }
    assert names["nn"] == names["tn"]
    assert plans.as_read(plans.Problem((4096, 1, 512), "tn")).layout == "tt"
    assert plans.as_read(plans.Problem((4096, 1, 512), "tn")).aligned == (True, True, False)
    assert plans.as_read(plans.Problem((1, 64, 64), "tn", packed=False)).layout == "tn"


def test_parts_for_another_kernel_are_as_many_for_every_tile(plans: ModuleType) -> None:
    """Each part is a matrix of its own: no tile may be cut where another is not."""
    for shape, layout in CASES:
        problem = plans.Problem(shape, layout)
        for plan in (plan for plan in plans.plans(problem) if plan.added):
            step = plan.step(problem)
            assert step.source == "stream_k"
            assert plan.spread == plans.cluster_tiles(plan.config, shape)
            assert plan.units % plan.spread == 0
            assert 2 <= plan.units // plan.spread <= -(-shape[2] // 64) // 2
            assert step.macros["CONSUMER_M"] * step.macros["TILE_N"] <= 256  # LEAVES_PARTS


@pytest.mark.parametrize(("shape", "layout"), CASES)
def test_split_tiles_fit_the_device_at_once(
    plans: ModuleType, shape: tuple[int, int, int], layout: str
) -> None:
    """A second wave of clusters would cost more than the cut gains; no block may have no step."""
    problem = plans.Problem(shape, layout)
    for plan in plans.plans(problem):
        step = plan.step(problem)
        if step.source == "split_k":
            parts, sharing = plan.units // plan.spread, math.prod(step.cluster)
            blocks = parts * sharing
            assert plan.spread * parts == plan.units
            assert parts in ((1, 2, 3, 4, 8) if plan.swapped and sharing == 1 else (2, 3, 4, 8))
            most = {1: 132, 2: 66, 3: 37, 4: 30, 6: 15, 8: 15}  # as an H200 runs at once
            assert plan.spread <= most[blocks]
            assert parts == 1 or -(-shape[2] // 64) >= 2 * parts
            rows, columns = step.tile[1::-1] if plan.swapped else step.tile[:2]
            pitch = 4 * (columns + (4 if plan.swapped else 8))
            assert rows * pitch <= step.shared_bytes  # the sums take the stages' place


def test_a_product_of_few_tiles_can_be_split(plans: ModuleType) -> None:
    few = [plan.name for plan in plans.plans(plans.Problem((512, 2304, 6912), "tt"))]
    assert "split_192x128_c1x1_g10_s5/54/108" in few
    shared = [plan.name for plan in plans.plans(plans.Problem((512, 1536, 6912), "tt"))]
    assert "split_128x128_c2x1_g8_s7/24/48" in shared  # two tiles, two parts: clusters of four
    many = plans.plans(plans.Problem((8192, 8192, 8192), "tt"))
    assert not any(plan.name.startswith("split") for plan in many)


@pytest.mark.parametrize(
    ("layout", "taken"), [("nn", "tt"), ("nt", "nt"), ("tn", "tn"), ("tt", "nn")]
)
def test_a_swapped_plan_computes_the_transpose(plans: ModuleType, layout: str, taken: str) -> None:
    """C^T = B^T A^T: sizes and layouts change places."""
    problem = plans.Problem((176, 2688, 8744), layout)
    swapped = [plan for plan in plans.plans(problem) if plan.swapped]
    assert {plan.name for plan in swapped} >= {"split_x128x160_c1x1_g16_s6/42/84"}
    for plan in swapped:
        assert plan.computed(problem) == plans.Problem((2688, 176, 8744), taken)
        step = plan.step(problem)
        assert step.name.endswith(taken)
        assert step.macros["C_TRANSPOSED"] == 1
        assert (step.macros["A_MN"], step.macros["B_MN"]) == (taken[0] == "t", taken[1] == "n")


@pytest.mark.parametrize(
    ("shape", "layout", "transposed"),
    [
        ((8, 4096, 4096), "tn", {"sliced_m8_tc"}),
        ((8, 4096, 4096), "nn", set()),
        ((4096, 12, 4096), "nn", {"sliced_n16_tc"}),
        ((4096, 12, 4096), "nt", set()),
        ((200, 4096, 4096), "tn", set()),
    ],
)
def test_a_narrow_operand_with_rows_of_k_can_be_transposed_first(
    plans: ModuleType, shape: tuple[int, int, int], layout: str, transposed: set[str]
) -> None:
    found = plans.plans(plans.Problem(shape, layout))
    assert {plan.kernel for plan in found if plan.kernel.endswith("c")} == transposed


def test_groups_of_sliced_fill_whole_waves(plans: ModuleType) -> None:
    """37 tiles of 128 rows alone occupy 37 of 132 multiprocessors; in 14 groups, 518 in 4 waves."""
    problem = plans.Problem((37 * 128, 40, 22209), "nt")
    groups = {
        plan.spread
        for plan in plans.plans(problem)
        if plan.kernel == "sliced_n64_rr" and plan.units == 1
    }
    assert groups == {1, 3, 7, 10, 14}


def test_narrower_tiles_fill_a_wave_where_threads_load(plans: ModuleType) -> None:
    """69 tiles of 128 columns leave 63 of 132 multiprocessors idle; 131 of 67 leave one."""
    wide = 8777
    found = plans.plans(plans.Problem((24, wide, 3521), "nn"))
    assert any(plan.name.startswith("sliced_m32_rt/1/1/131") for plan in found)
    for plan in found:
        if not plan.tiles:
            continue
        apart, covering = -(-wide // plan.tiles), -(-wide // plan.config.wide)
        assert not plan.config.x_tma
        assert apart <= plan.config.wide
        assert -(-wide // apart) == plan.tiles > covering
        blocks = plan.spread * plan.units
        assert -(-plan.tiles * blocks // 132) == -(-covering * blocks // 132)
    aligned = plans.plans(plans.Problem((24, 8776, 3520), "nn"))
    assert not any(plan.tiles for plan in aligned)


def test_a_fine_tile_takes_a_b_with_rows_of_k_only_if_it_is_padded(plans: ModuleType) -> None:
    for layout in ("nn", "nt"):
        problem = plans.Problem((2304, 768, 3328), layout)
        fine = [plan.config for plan in plans.plans(problem) if "128x112" in plan.kernel]
        own = [tiling for tiling in fine if not tiling.swapped]
        assert own
        assert all(tiling.padded == (layout == "nn") for tiling in own)


def test_the_smallest_tile_is_always_there(plans: ModuleType) -> None:
    for shape in ((1, 1, 64), (40, 64, 88)):
        found = [plan.name for plan in plans.plans(plans.Problem(shape, "tn"))]
        assert any(name.startswith("stream_64x32") for name in found)


def test_blocks_of_a_cluster_load_a_stage_in_whole_boxes(
    module: Callable[[str], ModuleType],
) -> None:
    """Rows of k lie in boxes of 64 columns, B's of 32 if so many are left over or fewer.

    Blocks share boxes, or parts of k; of rows along k equal parts, or boxes of 16.
    """
    families = module("families")
    for tiling in (*families.TILINGS, *families.SPLITS):
        down, across = tiling.cluster
        for layout in families.LAYOUTS:
            if tiling.fine and tiling.padded != (layout[1] == "n"):
                continue
            step = families.tiled(tiling, layout, tma_store=True)
            narrow = tiling.tile_n % 64 in (16, 32)
            assert step.macros["B_BOX"] == (32 if narrow else 64)
            operands = (
                (step.macros["A_MN"], tiling.tile_m, across, step.box_rows[0], 64),
                (step.macros["B_MN"], tiling.tile_n, down, step.box_rows[1], 32 if narrow else 64),
            )
            for rows_of_k, span, parts, box_rows, columns in operands:
                assert box_rows % 8 == 0, step.name  # a box begins with a swizzle atom
                if not rows_of_k:
                    equal = span % (8 * parts) == 0
                    assert box_rows == (span // parts if equal else 16) <= 256, step.name
                    continue
                boxes = -(-span // columns)
                assert boxes * columns - span <= 16, step.name
                assert box_rows == (64 if boxes % parts == 0 else 64 // parts), step.name


def test_fine_and_swapped_tiles_are_for_what_they_can_compute(plans: ModuleType) -> None:
    """TMA stores C; the tiles cover most of what runs at once."""
    found = {
        layout: [
            plan
            for plan in plans.plans(plans.Problem((2560, 512, 7936), layout))
            if plan.step(plans.Problem((2560, 512, 7936), layout)).source == "stream_k"
            and (plan.config.fine or plan.swapped)
        ]
        for layout in ("nn", "nt", "tn", "tt")
    }
    fine = {
        layout: {p.swapped for p in few if p.config.fine and not p.config.padded}
        for layout, few in found.items()
    }
    assert fine == {"nn": {True}, "nt": {False, True}, "tn": set(), "tt": {False}}
    assert "stream_x128x80_c1x1_g16_s8/0/128" in {plan.name for plan in found["nn"]}
    for plan in itertools.chain(*found.values()):
        cluster = plan.config.cluster[0] * plan.config.cluster[1]
        area = plan.config.tile_m * plan.config.tile_n * cluster
        waves = -(-plan.units // (132 // cluster))
        assert 0.5 * waves * plans.clusters_at_once(plan.config) * area <= 2560 * 512
    odd = plans.plans(plans.Problem((2560, 513, 7936)))
    assert not any(plan.swapped and plan.kernel.startswith("stream") for plan in odd)


def test_tilings_fill_shared_memory(module: Callable[[str], ModuleType]) -> None:
    """One stage more would not fit beside a consumer's least boxes of C, nor more boxes."""
    families = module("families")
    for tiling in families.TILINGS:
        taken = "n" if tiling.padded else "t" if tiling.fine else "nt"
        layouts = [layout for layout in families.LAYOUTS if layout[1] in taken]
        steps = [families.tiled(tiling, layout, tma_store=True) for layout in layouts]
        largest = max(step.shared_bytes for step in steps)
        assert largest <= 232_448
        stored = tiling.consumer_m * -(-tiling.tile_n // tiling.stored_columns)
        assert stored % tiling.store_boxes == 0
        narrow = tiling.consumers == 1 and math.prod(tiling.cluster) > 2
        least = min(1 if tiling.tile_n % 64 or narrow else 2, stored)
        assert tiling.store_boxes >= least
        more = next((n for n in range(tiling.store_boxes + 1, stored + 1) if stored % n == 0), None)
        if more:
            further = tiling.consumers * tiling.box_bytes * (more - tiling.store_boxes)
            assert largest + further > 232_448
        columns = tiling.tile_n + 16 * tiling.padded
        stage = (tiling.tile_m + columns) * 128 * tiling.depth
        kept = largest - tiling.consumers * tiling.box_bytes * (tiling.store_boxes - least)
        alone = tiling.cluster == (1, 1)
        most = (families.MOST_STAGES if alone else families.MOST_SHARED_STAGES)[tiling.depth]
        assert tiling.stages == most or kept + stage > 232_448


def test_a_cluster_of_more_tiles_than_surely_run_at_once_may_run_at_once(
    plans: ModuleType,
) -> None:
    """An H200 runs 15 clusters of 8 blocks; one of GPCs with as many multiprocessors, 16."""
    found = {plan.name for plan in plans.plans(plans.Problem((1024, 1024, 4096), "nt"))}
    assert {"stream_64x128_c2x4_g16_s9/0/8", "stream_64x128_c2x4_g16_s9/0/16"} <= found


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize(
    ("shape", "sides"),
    [
        ((1, 1, 1), "mn"),
        ((3, 5, 7), "mn"),
        ((5, 6070, 23350), "m"),
        ((5825, 8, 230), "n"),
        ((8, 4096, 512), "m"),
        ((9, 4097, 512), ""),
        ((60, 484, 108), "m"),
        ((16, 16, 14464), "mn"),
        ((65, 80, 64), ""),
        ((4096, 4096, 64), ""),
    ],
)
def test_dots_are_for_few_rows_or_columns_and_a_tiny_c(
    plans: ModuleType, shape: tuple[int, int, int], sides: str, layout: str
) -> None:
    problem = plans.Problem(shape, layout)
    found = [plan for plan in plans.plans(problem) if plan.kernel.startswith("dots")]
    assert {plan.kernel.removeprefix("dots_")[0] for plan in found} == set(sides)
    assert len(found) <= 6
    for plan in found:
        step = plan.step(problem)
        rows_of_k = bool(step.macros["X_MN"])
        read = plans.as_read(problem).layout
        assert rows_of_k == (read[1] == "n" if plan.config.few_rows else read[0] == "t")
        assert rows_of_k == (step.tile[0] >= 64)
        assert plan.spread in ((8,) if rows_of_k else (1, 2, 4, 8))
        assert plan.units in (1, 2, 4, 8)
        assert plan.units == 1 or plan.spread == 8  # a cluster's block keeps one warp's rows


def test_what_problem_5_chose_under_load_is_a_plan_of_the_kernels_as_they_are(
    plans: ModuleType,
) -> None:
    path = ANY_SHAPE.parent / "5-gpt2-step/choices.json"
    by_gpu = json.loads(path.read_text(encoding="utf-8"))
    for known, (key, chosen) in (
        (of, pair) for of in by_gpu.values() for pair in of["choices"].items()
    ):
        sizes, layout, _ = key.split(":")
        problem = plans.Problem(tuple(map(int, sizes.split("x"))), layout)
        assert chosen == "torch.mm" or chosen in {plan.name for plan in plans.plans(problem)}
        assert known["us"][key][chosen] == min(known["us"][key].values())


@pytest.mark.parametrize(
    ("shape", "overlaps"),
    [
        ((16, 4096, 8192), False),  # 64 MiB of weights and some rows
        ((16, 4096, 8100), True),
        ((4096, 64, 8192), False),
        ((65, 4096, 8192), True),
        ((8192, 8192, 8192), True),
    ],
)
def test_a_pass_over_large_weights_waits_for_the_kernel_before_it(
    module: Callable[[str], ModuleType], shape: tuple[int, int, int], overlaps: bool
) -> None:
    plans = module("plans")
    assert plans.overlaps(plans.Problem(shape, "nt")) == overlaps
