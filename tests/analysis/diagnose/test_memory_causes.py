"""What is held for a reason that one line of a program can change: sick, and done right."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.analysis.diagnose import conclude, known_findings
from harness.analysis.diagnose.finding import Finding
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, empty
from tests.support.caching_allocator import MIB, Device
from tests.support.memory_programs import (
    ADAPTER,
    CALLED,
    LAYERS,
    MADE,
    MOVED,
    READ,
    UPDATE,
    WEIGHT,
    adapted,
    assembled,
    fed,
    inferred,
    remembered,
    resumed,
    train,
    updated,
)
from tests.support.paths import DATA
from tests.support.snapshots import tables_of

PROGRAMS: dict[str, tuple[Callable[..., Device], str, str]] = {
    "deferred-free": (assembled, "assemble.py", "two fixed buffers"),
    "kept-checkpoint": (resumed, "resume.py", "map_location='cpu'"),
    "unused-gradients": (adapted, "base.py", "requires_grad_(False)"),
    "transient-spike": (updated, "train.py", "fused=True"),
    "kept-activations": (inferred, "layer.py", "inference_mode"),
    "kept-copies": (remembered, "copy.py", "host's memory"),
    "leak": (fed, "feed.py", "maximal length"),
}

ELSEWHERE = ("out-of-memory", "fragmentation", "dead-pool")
"""Tried in test_memory_findings.py."""


def findings(device: Device, folder: Path) -> tuple[Finding, ...]:
    return conclude.diagnose([device.capture(folder)]).findings


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cause_is_named_with_its_line_and_its_absence_is_healthy(
    name: str, tmp_path: Path
) -> None:
    program, where, fix = PROGRAMS[name]
    first = findings(program(sick=True), tmp_path)[0]
    assert (first.id, first.where) == (name, f"w/{where}:1 f")
    assert any(fix in each for each in first.fix)
    assert [each.id for each in findings(program(sick=False), tmp_path)] == ["healthy"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gain_is_what_the_healthy_program_saves(name: str, tmp_path: Path) -> None:
    sick, healthy = (PROGRAMS[name][0](sick=sick) for sick in (True, False))
    saved = 1 - healthy.peak_reserved / sick.peak_reserved
    assert findings(sick, tmp_path)[0].gain == pytest.approx(saved, rel=0.15)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kept", [1 / 8, 1 / 2, 7 / 8])
def test_a_history_that_is_cut_is_never_given_a_wrong_name(
    name: str, kept: float, tmp_path: Path
) -> None:
    for sick in (True, False):
        device = PROGRAMS[name][0](sick=sick)
        capture = device.capture(tmp_path, lost=round(len(device.history) * (1 - kept)))
        first = conclude.diagnose([capture]).findings[0]
        assert first.id in ({"abstain", "healthy", name} if sick else {"abstain", "healthy"})


def test_a_cache_of_keys_and_values_is_no_kept_activation(tmp_path: Path) -> None:
    """It is freed with its request, and has a block or two a layer, all of one size."""
    device = Device()
    device.new(WEIGHT, "build.py", MADE)
    for _ in range(6):
        cache: list[int] = []
        for _ in range(2 * LAYERS):
            cache += [device.new(16 * MIB, "cache.py") for _ in range(2)]
            device.drop(device.new(8 * MIB, "layer.py", CALLED))
        device.drop(*cache)
    assert findings(device, tmp_path)[0].id == "healthy"


def distilled(passes: int, *, detached: bool) -> Device:
    """Train by a second model's outputs, which a backward pass goes through or not."""
    device = Device()
    for _ in range(3 * LAYERS):
        device.new(WEIGHT, "build.py", MADE)
    for _ in range(passes):
        taught = [device.new(size * MIB, "teacher.py", CALLED) for size in (12, 24, 30) * LAYERS]
        kept = [device.new(size * MIB, "layer.py", CALLED) for size in (6, 4, 2) * LAYERS]
        output = device.new(MIB, "head.py")
        for block in reversed(kept if detached else taught + kept):
            device.drop(device.new(MIB, ""), block)
        device.drop(*taught if detached else (), output)
    return device


@pytest.mark.parametrize(
    ("passes", "detached", "named"),
    [(6, True, "kept-activations"), (6, False, "healthy"), (1, True, "healthy")],
)
def test_a_pass_within_a_training_step_counts_where_no_backward_pass_frees_it(
    passes: int, detached: bool, named: str, tmp_path: Path
) -> None:
    first = findings(distilled(passes, detached=detached), tmp_path)[0]
    assert first.id == named
    assert named == "healthy" or first.where == "w/teacher.py:1 f"


def test_activations_of_a_training_step_are_needed(tmp_path: Path) -> None:
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "build.py", MADE)
    for _ in range(6):
        kept = [device.new(size * MIB, "layer.py", CALLED) for size in (12, 24, 30) * LAYERS]
        gradient = device.new(30 * MIB, "")
        device.drop(*kept, gradient)
    assert findings(device, tmp_path)[0].id == "healthy"


def test_one_copy_of_the_weights_may_be_an_average(tmp_path: Path) -> None:
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "build.py", MADE)
        device.new(WEIGHT, "copy.py")
    train(device)
    assert findings(device, tmp_path)[0].id == "healthy"


def test_a_checkpoint_that_is_dropped_is_not_kept(tmp_path: Path) -> None:
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "build.py", MADE)
    device.drop(*[device.new(WEIGHT, "resume.py", READ) for _ in range(LAYERS)])
    train(device)
    assert "kept-checkpoint" not in {each.id for each in findings(device, tmp_path)}


def test_a_checkpoint_that_became_the_model_is_no_duplicate(tmp_path: Path) -> None:
    """Its copy, an average of the weights, is made of it afterwards."""
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "resume.py", READ)
    for _ in range(LAYERS):
        device.new(WEIGHT, "average.py")
    train(device)
    assert findings(device, tmp_path)[0].id == "healthy"


def test_a_model_that_is_moved_after_the_checkpoint_is_read_has_a_duplicate(tmp_path: Path) -> None:
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "resume.py", READ)
    for _ in range(LAYERS):
        device.new(WEIGHT, "build.py", MOVED)
    train(device)
    assert findings(device, tmp_path)[0].id == "kept-checkpoint"


def test_states_that_an_optimizer_takes_over_from_a_checkpoint_are_in_use(tmp_path: Path) -> None:
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "build.py", MADE)
    read = [device.new(WEIGHT, "resume.py", READ) for _ in range(3 * LAYERS)]
    device.drop(*read[::3])  # the weights, copied
    train(device)
    assert findings(device, tmp_path)[0].id == "healthy"


@pytest.mark.parametrize(
    ("states", "named"),
    [
        ((ADAPTER, ADAPTER), "unused-gradients"),
        ((WEIGHT, WEIGHT), "healthy"),
        ((WEIGHT // 4, WEIGHT // 4), "healthy"),  # of 8 bits
        ((MIB // 8, MIB // 16), "healthy"),  # factored: rows and columns
        ((), "healthy"),  # plain SGD
    ],
)
def test_gradients_that_are_kept_are_unused_where_no_state_is_of_their_size(
    states: tuple[int, ...], named: str, tmp_path: Path
) -> None:
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "base.py", MADE)
        device.new(ADAPTER, "adapter.py")
    for step in range(6):
        device.drop(*[device.new(4 * MIB, "layer.py", CALLED) for _ in range(LAYERS)])
        if not step:
            for _ in range(LAYERS):
                device.new(WEIGHT, "")
                device.new(ADAPTER, "")
            for size in states * LAYERS:
                device.new(size, "train.py", *UPDATE)
    assert findings(device, tmp_path)[0].id == named


def test_a_queue_that_fills_and_then_stays_does_not_grow(tmp_path: Path) -> None:
    device = Device()
    waiting: list[int] = []
    for step in range(24):
        waiting += [device.new(16 * MIB, "feed.py") for _ in range(2 if step < 12 else 1)]
        device.drop(device.new(8 * MIB, "layer.py", CALLED))
        device.drop(waiting.pop(0))
    assert "leak" not in {each.id for each in findings(device, tmp_path)}


@pytest.mark.parametrize(("calls", "named"), [((), "leak"), ((CALLED,), "abstain")])
def test_a_loop_of_the_program_that_frees_little_leaks_and_layers_may_not(
    calls: tuple[tuple[str, str], ...], named: str, tmp_path: Path
) -> None:
    """16 searches of 24 nodes each, or as many layers of experts, in one pass without a head."""
    device = Device()
    device.new(16 * MIB, "build.py", MADE)
    for _ in range(16):
        device.drop(device.new(6 * MIB, "root.py", *calls))
        for _ in range(24):
            device.drop(device.new(6 * MIB, "plane.py", CALLED))
            device.new(4 * MIB, "node.py", *calls)
    assert findings(device, tmp_path)[0].id == named


def first_of(name: str) -> Finding:
    tables = {table: empty(table) for table in SCHEMAS}
    tables |= tables_of(DATA / f"memory/{name}.pickle.zst")
    return conclude.diagnose([Capture("real", tables, {})]).findings[0]


def test_a_real_queue_grows_by_two_clips_a_step() -> None:
    """Clips of 8 x 16 x 3 x 224 x 224 floats: three are put in a step, one is taken out."""
    first = first_of("q46")
    assert (first.id, first.where) == ("leak", "second_sight/q46.py:24 next")
    clip = 8 * 16 * 3 * 224 * 224 * 4
    assert first.evidence[0].value == pytest.approx(2 * clip, rel=0.01)


def test_a_real_checkpoint_is_kept_beside_a_model_and_its_average() -> None:
    """Of 12 layers of 2048 x 2048 floats and two of 128 x 2048, with biases, twice."""
    first = first_of("q47")
    assert (first.id, first.where) == ("kept-checkpoint", "second_sight/q47.py:30 setup")
    weights = 2 * 4 * (12 * (2048 + 1) * 2048 + (128 + 1) * 2048 + (2048 + 1) * 128)
    assert first.evidence[1].value == pytest.approx(weights, rel=1e-3)


def test_real_layers_wait_for_the_stream_that_computes() -> None:
    """Each has 8 x 2048 x 2048 weights in bf16; 40 are assembled in each of seven steps."""
    first = first_of("q48")
    assert (first.id, first.where) == ("deferred-free", "second_sight/q48.py:21 assemble")
    layer = 8 * 2048 * 2048 * 2
    assert first.evidence[2].value == layer
    assert first.evidence[0].value % layer == 0


def test_all_findings_on_memory_are_tried() -> None:
    assert known_findings.MEMORY.kinds().keys() == {*PROGRAMS, *ELSEWHERE}
