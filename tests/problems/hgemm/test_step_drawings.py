"""The drawing of a step says what its kernel does: which bytes go where, what waits for what."""

import ctypes
import importlib
import re
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report import own_sections
from tests.support import figures, smem
from tests.support.hgemm import FOLDER

PHONE = 400


def section(name: str) -> Any:
    return importlib.import_module(f"{own_sections.load(FOLDER).__name__}.{name}")


fragments, operands, overlap = map(section, ("fragments", "operands", "overlap"))
pipeline, drawn = section("pipeline"), section("step_drawing").DRAWN


@pytest.fixture(scope="module")
def steps(module: Callable[[str], ModuleType]) -> Any:
    return module("steps").RUNGS


def source(file: str) -> str:
    return (FOLDER / "kernels" / file).read_text(encoding="utf-8")


def texts(step: str) -> list[str]:
    return [label.text for label in figures.labels(drawn[step][1]())]


@pytest.mark.parametrize("step", drawn)
def test_a_drawing_is_legible(step: str) -> None:
    svg = drawn[step][1]()
    assert figures.overlapping(svg) == []
    wide, _ = figures.size(svg)
    assert min(label.size for label in figures.labels(svg)) * PHONE / wide >= 12


def test_drawings_have_the_parts_of_their_kernels(steps: Any) -> None:
    def lanes(step: str, beginning: str) -> int:
        return sum(text.startswith(beginning) for text in texts(step))

    assert lanes("p6", "p6, stage") == steps["p6"].stages
    assert lanes("h4", "h3, stage") == steps["h3"].stages
    assert lanes("h4", "h4, stage") == steps["h4"].stages
    slices = {text for text in texts("p7") if text.isdigit()}
    assert slices == set(map(str, range(steps["p7"].tile[2] // 16)))
    places = int(re.findall(r"STORE_BOXES (\d)", source("h05_tma_store.cu"))[0])
    assert lanes("h5", "h5, box") == places
    boxes = {text for text in texts("h5") if text.isdigit()}
    assert boxes == set(map(str, range(steps["h5"].tile[1] // 64)))
    assert f"{steps['h4'].tile[1] // 4} stores per thread" in texts("h5")


def test_lanes_address_rows_as_p3_does() -> None:
    found = re.search(
        r"lane % (\d+)\) \* PITCH_A \+ kk \+ lane / (\d+) \* 8", source("p3_ldmatrix.cu")
    )
    assert found
    rows, per_chunk = map(int, found.groups())
    for lane in range(32):
        assert fragments.addressing_lane(lane % rows, lane // per_chunk) == lane


def test_lanes_hold_the_elements_that_the_hardware_gives_them() -> None:
    for lane in range(32):
        for register in range(4):
            row, column = smem.accumulator(lane, register)
            assert fragments.holding_lane(row, column // 2) == lane
            assert fragments.matrix(row, 0) == register // 2
    held = Counter(
        (fragments.matrix(row, pair // 4), fragments.holding_lane(row, pair))
        for row in range(16)
        for pair in range(8)
    )
    assert held == Counter((register, lane) for register in range(4) for lane in range(32))


def test_plans_are_those_of_the_steps(steps: Any) -> None:
    for plan in operands.PLANS:
        step = steps[plan.step]
        assert step.tile == (plan.rows, plan.columns, 64)
        assert plan.cluster == step.cluster[0]
        if step.architecture == "sm_90a":
            assert plan.consumers == max(1, step.threads // 128 - 1)
        stage = (plan.a_kb + plan.b_kb) << 10
        assert 0 <= step.shared_bytes - step.stages * stage < stage


def test_the_instructions_are_as_many_as_the_kernels_issue(
    steps: Any, copies: Callable[..., ctypes.CDLL]
) -> None:
    counts = {way.name: way.count for row in operands.ways() for way in row}
    p8, text = steps["p8"], source("p8_block_swizzle.cu")
    sizes = dict(zip(("BLOCK_M", "BLOCK_N", "BLOCK_K"), p8.tile, strict=True))
    library = copies(**sizes, BLOCK_THREADS=p8.threads)
    made = ctypes.create_string_buffer(1 << 20)
    threads = library.c_copies(None, None, 0, 0, *p8.tile, made)
    assert counts["cp.async"] == threads / 32
    warp_m, warp_n = (int(re.findall(rf"{name} = (\d+)", text)[0]) for name in ("WARP_M", "WARP_N"))
    slices = p8.threads // 32 * p8.tile[2] // 16
    assert counts["ldmatrix"] == slices * (warp_m // 16 + warp_n // 16)
    assert counts["mma.sync"] == slices * warp_m // 16 * warp_n // 8
    m, n, k = steps["h0"].tile
    ctas = p8.tile[0] * p8.tile[1] // (m * n)
    assert counts["TMA"] == ctas * source("h00_wgmma.cu").count("tma_load(")
    assert counts["wgmma"] == ctas * k // 16
    assert {"32 KB", "64 KB"} <= set(texts("h0"))


def test_each_cta_of_a_cluster_loads_the_boxes_that_h6_loads() -> None:
    plan, alone = operands.H6, operands.H5
    assert "i = rank * (BOXES / CLUSTER) + j" in source("h06_multicast.cu")
    each = plan.columns // 64 // plan.cluster
    for rank in (0, 1):
        loaded = {rank * each + at for at in range(each)}
        for cta in (0, 1):
            assert {box for box in range(2 * each) if plan.loader(cta, box) == rank} == loaded
            assert alone.loader(cta, rank) == cta
    assert (alone.read_kb(2), plan.read_kb(2)) == (96, 64)


def test_a_cta_of_h10_sends_the_sums_that_its_kernel_sends(steps: Any) -> None:
    split, (rows, columns, _) = steps["h10"].split_k, steps["h10"].tile
    consumers = operands.H10.consumers
    count = columns // 2 // (split // consumers)  # PARTS and COUNT of the kernel
    assert f"{count * 128 * 4 >> 10} KB" in texts("h10")
    owned = [f"rows {part * 64}–{part * 64 + 63}" for part in range(rows // 64)]
    assert [text for text in texts("h10") if text.startswith("rows")] == owned * split


@given(st.integers(2, 6), st.floats(0.1, 9), st.integers(1, 60))
def test_p6_copies_to_a_stage_that_all_have_read(stages: int, load: float, count: int) -> None:
    made = overlap.multistage(stages, load, count)
    for number, step in enumerate(made):
        assert step.begun >= step.arrived and step.stage == number % stages
        if number >= stages:
            assert step.issued >= made[number - stages].ended
        if number >= stages - 1:
            assert step.issued == made[number - stages + 1].begun
    waits = made[-1].ended - made[0].begun - count
    if load <= stages - 1:
        assert waits == pytest.approx(0)
    elif count > stages:
        assert waits > 0


@given(st.floats(0.1, 2), st.floats(0, 0.5), st.integers(2, 6), st.integers(3, 30))
def test_p7_loads_into_fragments_that_are_multiplied(
    load: float, barrier: float, per_step: int, count: int
) -> None:
    slices = overlap.double_buffered(load, barrier, per_step, count)
    for number, one in enumerate(slices):
        assert one.begun >= one.loaded >= one.issued >= one.waited
        first = number % per_step == 0
        assert one.issued - one.waited == pytest.approx(barrier if first else 0)
        if number > 1:
            assert one.issued >= slices[number - 2].ended
    for before, after in pairwise(slices):
        assert after.issued <= before.begun and after.begun >= before.ended
    # All loads but the first hide, as far as products last; a last slice waits for the next step.
    saved = overlap.in_turn(load, barrier, per_step, count)[-1].ended - slices[-1].ended
    waits = barrier if count % per_step == 0 else 0
    assert saved == pytest.approx((count - 1) * min(load, 1) - waits)


def test_h4_loads_for_the_next_tile_while_the_consumers_store() -> None:
    stages, steps, store = 4, 6, 2.0
    made = pipeline.ring(stages, 3.0, 2 * steps, steps, store)
    last, first = made[steps - 1], made[steps]
    assert first.issued < last.ended and first.begun == last.ended + store
    assert [one.stage for one in made] == [number % stages for number in range(2 * steps)]
    assert made[0].begun == pipeline.ring(stages, 3.0, 1)[0].begun


@given(st.floats(0.1, 2), st.floats(0.1, 4), st.integers(1, 4), st.integers(1, 3))
def test_h5_writes_to_a_box_that_tma_has_read(
    write: float, read: float, times: int, places: int
) -> None:
    made = overlap.boxes(5.0, write, read, times * places, places)
    for number, box in enumerate(made):
        assert box.place == number % places and box.read >= box.written + read - 1e-9
        free = made[number - places].read if number >= places else 5.0
        before = made[number - 1].written if number else 5.0
        assert box.begun == max(free, before)


@given(st.lists(st.floats(0, 9), min_size=1, max_size=5), st.floats(0, 3), st.floats(0, 3))
def test_with_pdl_only_the_first_load_waits_for_the_kernel_before(
    ends: list[float], launch: float, prologue: float
) -> None:
    without = overlap.starts(ends, launch, prologue, pdl=False)
    assert min(one.begun for one in without) >= max(ends)
    for end, one, late in zip(
        ends, overlap.starts(ends, launch, prologue, pdl=True), without, strict=True
    ):
        assert one.begun == end and one.loads >= max(ends)
        assert one.loads <= late.loads
