"""The ladder as data agrees with itself, and its grids leave no tile out."""

import ctypes
import math
import re
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from tests.support.hgemm import FOLDER, source

LET_START, WAIT = "let_next_start();", "wait_for_previous();"
SHAPES = [(1, 8), (128, 256), (129, 264), (1000, 1000), (4096, 4096), (24576, 768), (5000, 2568)]


@pytest.fixture(scope="module")
def steps(module: Callable[[str], ModuleType]) -> ModuleType:
    return module("steps")


def test_names_are_unique_and_every_kernel_belongs_to_a_step(
    steps: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    assert len(steps.EVERY) == len(steps.STEPS) + len(steps.CANDIDATES)
    assert len(steps.STEPS) == len(steps.LADDER) + 1
    files = {step.file for step in steps.EVERY.values()}
    files |= {steps.COUNTERS.file, *(step.file for step in module("scaled").STEPS.values())}
    assert files == {path.name for path in (FOLDER / "kernels").glob("*.cu")}


def test_each_source_has_one_entry_point_of_the_steps_name(steps: ModuleType) -> None:
    for step in steps.EVERY.values():
        text = source(step.file)
        assert text.count('extern "C" __global__') == 1
        assert f" {step.kernel}(const" in as_named(text), step.file
        assert re.search(r"^LAUNCHED_WITH\(", text, re.MULTILINE)


def as_named(text: str) -> str:
    """Return a source with the name that it gives its KERNEL, if it does: the first one counts."""
    named = re.findall(r"(#ifndef KERNEL\s+)?#define KERNEL (\w+)", text)
    assert all(unless for unless, _ in named[1:])
    return text.replace(" KERNEL(", f" {named[0][1]}(") if named else text


def test_pdl_has_the_ninth_step_and_all_candidates(steps: ModuleType) -> None:
    assert [step.name for step in steps.STEPS.values() if step.pdl] == ["h9_pdl"]
    assert all(step.pdl for step in steps.CANDIDATES.values())
    assert all(step.defines()["PDL"] == step.pdl for step in steps.EVERY.values())


def test_what_has_pdl_waits_and_lets_the_next_one_start(
    steps: ModuleType, module: Callable[[str], ModuleType]
) -> None:
    every = [*steps.EVERY.values(), *module("scaled").STEPS.values()]
    with_pdl = {step.file for step in every if step.pdl}
    for path in (FOLDER / "kernels").glob("*.cu"):
        text = source(path.name)
        assert text.count(LET_START) == (path.name in with_pdl), path.name
        assert text.count(WAIT) == (path.name in with_pdl) * (1 + ("__ldg" in text)), path.name


def test_no_scale_is_read_before_the_consumers_wait() -> None:
    _, kernel = source("f0_scaled.cu").split('extern "C" __global__')
    producer, consumers = kernel.split("registers_take")
    before, after = consumers.split(WAIT)
    assert "scale" not in before and "block_scales(" in after and "scale_rows(" in after
    assert "scales(" not in producer and "scale_rows(" not in producer


def test_nothing_is_read_before_the_wait(steps: ModuleType) -> None:
    """By the producer, whose only thread waits once, before its first tile."""
    for file in {step.file for step in steps.EVERY.values() if step.pdl}:
        _, kernel = source(file).split('extern "C" __global__')
        before, after = kernel.split(WAIT)
        assert "tma_load" in after and "tma_load" not in before, file
        _, producer = before.split("if (warpgroup == 0) {")
        assert "if (threadIdx.x == 0) {" in producer and "for (" not in producer, file
        assert "else {" not in producer, file
        assert not re.search(r"\b[ab]\[", kernel), file  # nor is anything read without TMA


def test_the_counters_are_read_once_on_each_multiprocessor(steps: ModuleType) -> None:
    counters = steps.COUNTERS
    text = source(counters.file)
    assert f"__global__ void {counters.kernel}(unsigned long long*" in text
    assert counters.shared_bytes + 1024 <= 233_472 < 2 * (counters.shared_bytes + 1024)
    assert counters.name not in steps.EVERY  # it computes no product


def test_blocks_are_possible(steps: ModuleType) -> None:
    for step in steps.EVERY.values():
        assert step.threads % 32 == 0 and step.threads <= 1024
        assert step.shared_bytes <= 232_448
        assert step.blocks_per_sm * (step.shared_bytes + 1024) <= 233_472
        assert all(0 <= rows <= 256 and rows % 8 == 0 for rows in step.box_rows)
        assert math.prod(step.cluster) in (1, 2)
        assert step.why.endswith(".")


def test_a_stage_receives_the_bytes_that_its_boxes_bring(steps: ModuleType) -> None:
    for step in steps.EVERY.values():
        if not step.maps:
            continue
        tile_m, tile_n, tile_k = step.tile
        a = step.box_rows[0] * tile_k * 2 * step.cluster[1]
        b = step.box_rows[1] * 64 * 2 * (tile_n // 64)
        assert a + b == (tile_m + tile_n) * tile_k * 2


def tiles_of(step: Any, layout: ctypes.CDLL, m: int, n: int, sms: int) -> Counter[tuple[int, int]]:
    """Walk all blocks of a launch; return how often each tile of C is computed."""
    tile_m, tile_n, _ = step.tile
    rows, columns = -(-m // tile_m), -(-n // tile_n)
    x, y, _ = step.grid(m, n, sms)
    if not step.persistent:
        if step.split_k > 1:
            assert x % step.split_k == 0
            return Counter(divmod(tile, columns) for tile in range(x // step.split_k))
        return Counter((row, column) for row in range(y) for column in range(x))
    down, across = step.cluster
    size = down * across
    assert x % size == 0
    cluster_rows, cluster_columns = -(-rows // down), -(-columns // across)
    found: Counter[tuple[int, int]] = Counter()
    for block in range(x):
        rank = block % size
        for index in range(block // size, cluster_rows * cluster_columns, x // size):
            if "GROUP" in step.macros:
                group = step.macros["GROUP"]
                tile = layout.c_grouped_tile(index, cluster_rows, cluster_columns, group)
                row, column = divmod(tile, 1 << 16)
            else:
                row, column = divmod(index, cluster_columns)
            found[row * down + rank % down, column * across + rank // down] += 1
    return Counter({(r, c): count for (r, c), count in found.items() if r < rows and c < columns})


@pytest.mark.parametrize("sms", [132, 114, 7])
def test_every_tile_is_computed_once(steps: ModuleType, layout: ctypes.CDLL, sms: int) -> None:
    for step in steps.EVERY.values():
        for m, n in SHAPES:
            found = tiles_of(step, layout, m, n, sms)
            rows, columns = -(-m // step.tile[0]), -(-n // step.tile[1])
            assert len(found) == rows * columns, (step.name, m, n)
            assert set(found.values()) == {1}, (step.name, m, n)


def test_persistent_blocks_fit_on_the_device_at_once(steps: ModuleType) -> None:
    for step in steps.EVERY.values():
        if step.persistent:
            blocks, _, _ = step.grid(16384, 16384, 132)
            assert blocks <= 132 * step.blocks_per_sm
            assert blocks >= 132 * step.blocks_per_sm - 1


def test_an_even_grid_has_the_fewest_blocks_that_need_no_more_waves(steps: ModuleType) -> None:
    assert steps.RUNGS["h6"].grid(8192, 8192, 132)[0] == 132
    assert steps.RUNGS["h7"].grid(8192, 8192, 132)[0] == 128  # 1024 clusters in 16 waves
    even = [step for step in steps.EVERY.values() if step.evenly]
    assert {step.source for step in even} >= {"h7_tile_order", "h8_ping_pong", "h9_pdl"}
    for step in even:
        down, across = step.cluster
        for m, n in SHAPES:
            clusters = -(-m // (step.tile[0] * down)) * -(-n // (step.tile[1] * across))
            room = 132 * step.blocks_per_sm // (down * across)
            waves = math.ceil(clusters / room)
            fewest = next(at_once for at_once in range(1, room + 1) if at_once * waves >= clusters)
            assert step.grid(m, n, 132) == (fewest * down * across, 1, 1), (step.name, m, n)


def test_what_a_step_does_not_take_the_fallback_does(steps: ModuleType) -> None:
    assert steps.STEPS["h7_tile_order"].takes(1, 8, 8)
    for shape in ((4097, 4104, 4099), (5, 7, 8), (1, 1, 1)):
        assert not steps.STEPS["h7_tile_order"].takes(*shape)
        assert steps.FALLBACK.takes(*shape)
    assert not steps.FALLBACK.takes(0, 8, 8)


def test_the_suite_is_the_one_that_was_agreed(steps: ModuleType) -> None:
    shapes = steps.suite()
    assert len(shapes) == len(set(shapes)) == 13
    assert all(steps.STEPS["h7_tile_order"].takes(*shape) for shape in shapes)
