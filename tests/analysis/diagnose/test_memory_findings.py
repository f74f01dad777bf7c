"""Findings on memory, on programs that run on an allocator in miniature: sick, and done right."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.analysis.diagnose import conclude
from harness.analysis.diagnose.finding import Finding
from harness.evidence.capture import Capture
from harness.evidence.tables import SCHEMAS, empty, frame
from tests.support.caching_allocator import KIB, MIB, Device
from tests.support.paths import DATA, ROOT
from tests.support.reports import COMMITTED
from tests.support.snapshots import tables_of

ZOO_CAPTURES = ROOT / "reports/6-bottleneck-zoo/nvidia-h200/captures"
STEPS = 4
UNRECORDED = 3
"""Steps before the measured ones: the first, and the warm-up."""


def steps(device: Device, step: Callable[[], None]) -> None:
    """Run a step as a capture does: once at first, to warm up, and measured."""
    for phase, count in (("first", 1), ("warmup", UNRECORDED - 1), ("step", STEPS)):
        device.phase(phase)
        for _ in range(count):
            step()


def fragmentation(device: Device, *, sick: bool) -> None:
    """Keep 16 small blocks and drop 16 large ones, allocated in turn or apart; then a larger."""
    unit = 16 * MIB
    held: list[int] = []

    def step() -> None:
        device.drop(*held)
        held.clear()
        device.drop(device.new(64 * unit))
        dropped = []
        if sick:
            for _ in range(16):
                dropped.append(device.new(3 * unit))
                held.append(device.new(unit))
        else:
            held.extend(device.new(unit) for _ in range(16))
            dropped = [device.new(3 * unit) for _ in range(16)]
        device.drop(*dropped)
        held.append(device.new(32 * unit))

    device.new(unit)
    steps(device, step)


def dead_pool(device: Device, *, sick: bool) -> None:
    """Capture graphs of 6 sizes, with a pool each or one for all; replay the largest."""
    device.new(288 * MIB)
    device.phase("first")
    for number in range(6):
        with device.pool(1 + number if sick else 1):
            wide = device.new((64 - 2 * number) * MIB)
            device.new(16 * MIB)
            device.drop(wide)
    steps(device, lambda: device.drop(device.new(64 * KIB)))


def transient_spike(device: Device, *, sick: bool) -> None:
    """Compute a loss of all rows at once, or of a sixteenth at a time."""
    device.new(256 * MIB)
    chunks = 1 if sick else 16

    def step() -> None:
        for _ in range(chunks):
            logits = device.new(1024 * MIB // chunks)
            wider = device.new(2048 * MIB // chunks)
            softmax = device.new(2048 * MIB // chunks)
            device.drop(logits, wider, softmax)

    steps(device, step)


def leak(device: Device, *, sick: bool) -> None:
    """Train for 8 passes a step and keep each loss, with what its graph holds or without."""
    device.new(4 * MIB)
    gradient = device.new(4 * MIB)
    device.drop(gradient)

    def step() -> None:
        for _ in range(8):
            activations = device.new(MIB, "activations.py")
            device.new(4, "loss.py")
            gradient = device.new(4 * MIB)
            device.drop(gradient)
            if not sick:
                device.drop(activations)

    steps(device, step)


PROGRAMS: dict[str, Callable[..., None]] = {
    "fragmentation": fragmentation,
    "dead-pool": dead_pool,
    "transient-spike": transient_spike,
    "leak": leak,
}


def ran(name: str, *, sick: bool) -> Device:
    device = Device()
    device.phase("load")
    PROGRAMS[name](device, sick=sick)
    return device


def findings(capture: Capture) -> tuple[Finding, ...]:
    return conclude.diagnose([capture]).findings


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_cause_is_named_first_and_its_absence_is_healthy(name: str, tmp_path: Path) -> None:
    sick, healthy = (findings(ran(name, sick=sick).capture(tmp_path)) for sick in (True, False))
    assert sick[0].id == name
    assert [each.id for each in healthy] == ["healthy"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_other_causes_are_not_named(name: str, tmp_path: Path) -> None:
    assert [each.id for each in findings(ran(name, sick=True).capture(tmp_path))] == [name]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gain_is_what_the_healthy_program_saves(name: str, tmp_path: Path) -> None:
    sick, healthy = (ran(name, sick=sick) for sick in (True, False))
    saved = 1 - healthy.peak_reserved / sick.peak_reserved
    assert findings(sick.capture(tmp_path))[0].gain == pytest.approx(saved, rel=0.25)


def test_a_leak_is_of_the_line_that_leaves_most_and_gains_what_all_steps_left(
    tmp_path: Path,
) -> None:
    device = ran("leak", sick=True)
    (first,) = findings(device.capture(tmp_path))
    assert first.where == "w/activations.py:1 f"
    left = (UNRECORDED + STEPS) * 8 * (MIB + 512)
    assert first.gain == pytest.approx(left / device.peak_reserved, rel=0.01)


@pytest.mark.parametrize("lengths", [(16,), (16, 24, 20, 32)])
@pytest.mark.parametrize("capacity", [None, 80_000 * MIB])
def test_what_each_step_leaves_is_told_by_line(
    lengths: tuple[int, ...], capacity: int | None, tmp_path: Path
) -> None:
    """Of 24 steps each keeps a table as long as its batch and a scalar; two lines of 8 layers."""
    device = Device()
    weights = [device.new(16 * MIB, "weights.py") for _ in range(10)]
    for number in range(24):
        length = lengths[number % len(lengths)]
        batch = device.new(length * MIB, "data.py")
        made = [device.new(length * MIB, f"layer{at % 2}.py") for at in range(8)]
        if not number:
            device.new(len(weights) * 16 * MIB, "states.py")
        device.new(length * MIB, "cache.py")
        device.new(4, "loss.py")
        device.drop(batch, *made)
    capture = device.capture(tmp_path)
    if capacity:
        capture.tables["devices"] = frame("devices", {"device": [0], "memory_bytes": [capacity]})
    (peak,) = conclude.diagnose([capture]).memory
    growth = peak.growth
    assert growth is not None
    each = sum(lengths[at % len(lengths)] for at in range(23)) * MIB / 23
    assert growth.repeats == 23
    assert growth.bytes == pytest.approx(each + 512)
    assert growth.line in {f"w/{name}.py:1 f" for name in ("data", "cache", "loss")}
    assert [left.site for left in growth.sites] == ["w/cache.py:1 f"]
    assert growth.sites[0].bytes == pytest.approx(each)
    left = None if capacity is None else (capacity - device.reserved) / growth.bytes
    assert growth.lasts == (None if left is None else pytest.approx(left))
    first = findings(capture)[0]
    assert (first.id, first.where) == ("leak", "w/cache.py:1 f")
    assert first.evidence[0].value == growth.bytes


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("sick", [True, False])
def test_without_a_history_nothing_is_concluded(name: str, sick: bool, tmp_path: Path) -> None:
    device = ran(name, sick=sick)
    (only,) = findings(device.capture(tmp_path, lost=len(device.history)))
    assert only.id == "abstain"
    assert any("history" in each for each in only.next)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("kept", [1 / 8, 1 / 2, 7 / 8])
def test_a_history_that_is_cut_is_never_given_a_wrong_name(
    name: str, kept: float, tmp_path: Path
) -> None:
    for sick in (True, False):
        device = ran(name, sick=sick)
        device.phases.clear()
        lost = round(len(device.history) * (1 - kept))
        first = findings(device.capture(tmp_path, lost=lost))[0]
        assert first.id in ({"abstain", name} if sick else {"abstain", "healthy"})


def test_setting_up_is_no_leak(tmp_path: Path) -> None:
    device = Device()
    for _ in range(100):
        device.new(16 * MIB)
        device.drop(device.new(4 * MIB))
    assert findings(device.capture(tmp_path))[0].id == "healthy"


def test_the_layers_of_one_forward_pass_leave_alike_and_are_no_leak(tmp_path: Path) -> None:
    """Each casts its weights, which is freed at once and more than the activation that is kept."""
    device = Device()
    for _ in range(32):
        cast = device.new(48 * MIB)
        device.new(16 * MIB)
        device.drop(cast)
    assert "leak" not in {each.id for each in findings(device.capture(tmp_path))}


@pytest.mark.parametrize(
    ("steps", "first"), [(2, "healthy"), (3, "healthy"), (4, "leak"), (8, "leak")]
)
def test_four_steps_without_marks_that_leave_what_they_do_not_free_leak(
    steps: int, first: str, tmp_path: Path
) -> None:
    device = Device()
    for _ in range(steps):
        activations = [device.new(16 * MIB) for _ in range(12)]
        device.new(16 * MIB)
        device.drop(*activations)
    assert findings(device.capture(tmp_path))[0].id == first


def test_what_holds_memory_as_it_runs_out_is_told(tmp_path: Path) -> None:
    device = Device()
    device.new(8 * MIB)
    for _ in range(7):
        device.new(64 * MIB)
    device.fail(96 * MIB, 32 * MIB, "loss.py")
    first = findings(device.capture(tmp_path))[0]
    assert (first.id, first.where) == ("out-of-memory", "w/loss.py:1 f")
    assert value(first, "asked for") == 96 * MIB
    assert value(first, "free on the device") == 32 * MIB
    assert value(first, "held by 8 blocks of w/model.py:1 f") == (8 + 7 * 64) * MIB
    assert "12.58 MB" in first.evidence[1].metric  # of the 20 MiB that the 8 MiB are a part of


def test_a_failure_that_free_pieces_would_have_served_is_said_to_be_one(tmp_path: Path) -> None:
    device = Device()
    kept = [device.new(8 * MIB) for _ in range(8)]  # two in each of four segments of 20 MiB
    device.drop(*kept[::2])
    device.fail(40 * MIB, 10 * MIB)
    assert "in pieces" in findings(device.capture(tmp_path))[0].title


@pytest.mark.parametrize(("ended", "said"), [(3, "in pieces"), (0, "no memory was left")])
def test_a_limit_of_the_process_is_no_memory_that_pieces_lack(
    ended: int, said: str, tmp_path: Path
) -> None:
    """Sessions of 64 MiB fill the freed buffer of 384 MiB; one comes to lie in the next buffer.

    A third buffer is refused though the driver has gigabytes. 320 MiB are free beside that one
    session: too little for a buffer, unless three others have ended.
    """
    device = Device()
    sessions = []
    for _ in range(7):
        device.drop(device.new(384 * MIB, "scores.py"))
        sessions.append(device.new(64 * MIB, "store.py"))
    device.drop(*sessions[:ended])
    assert device.reserved == 2 * 384 * MIB
    device.fail(384 * MIB, 70_000 * MIB, "scores.py")
    first = findings(device.capture(tmp_path))[0]
    assert (first.id, said in first.title) == ("out-of-memory", True)
    assert any("memory limit refused it" in each.metric for each in first.evidence)


def test_what_a_graphs_pool_has_free_serves_no_other_request(tmp_path: Path) -> None:
    device = Device()
    with device.pool(1):
        wide = device.new(256 * MIB)
        device.new(16 * MIB)
        device.drop(wide)
    for _ in range(4):
        device.new(64 * MIB)
    device.fail(200 * MIB, 10 * MIB)
    first = findings(device.capture(tmp_path))[0]
    assert (first.id, "no memory was left" in first.title) == ("out-of-memory", True)


@pytest.mark.parametrize(("copies", "said"), [(0, "in pieces"), (2, "large intermediates")])
def test_of_pieces_and_intermediates_what_holds_more_is_to_blame(
    copies: int, said: str, tmp_path: Path
) -> None:
    """Each of two segments has 252 MiB free beside what is kept; a limit refuses 500 MiB."""
    device = Device()
    device.new(260 * MIB, "weights.py")
    device.drop(*[device.new(512 * MIB) for _ in range(2)])
    for _ in range(2):
        device.new(260 * MIB, "kept.py")
    for _ in range(copies):
        device.new(1024 * MIB, "copies.py")
    device.fail(500 * MIB, 70_000 * MIB)
    first = findings(device.capture(tmp_path))[0]
    assert (first.id, said in first.title) == ("out-of-memory", True)


def test_copies_of_all_logits_that_fill_the_memory_are_named_not_the_pieces(
    tmp_path: Path,
) -> None:
    """The longest batch fails at the third copy in fp32; half as much is free: the bf16 logits."""
    device = Device()
    for _ in range(12):
        device.new(8 * MIB, "weights.py")
    for rows in (512, 768, 2048):
        hidden = [device.new(rows * MIB // 64, "layer.py") for _ in range(4)]
        logits = device.new(rows * MIB // 2, "head.py")
        device.new(4 * MIB, "head.py")  # lies behind the logits, so they stay reserved
        copies = [device.new(rows * MIB, "loss.py")]
        device.drop(logits)
        copies.append(device.new(rows * MIB, "loss.py"))
        if rows < 2048:
            device.drop(device.new(rows * MIB, "loss.py"), *copies, *hidden)
    device.fail(2048 * MIB, 70_000 * MIB)
    first = findings(device.capture(tmp_path))[0]
    assert (first.id, first.where) == ("out-of-memory", "w/model.py:1 f")
    assert "large intermediates" in first.title
    assert value(first, "held by 2 blocks of w/loss.py:1 f") == 2 * 2048 * MIB
    assert any("cross-entropy" in fix for fix in first.fix)


@pytest.mark.parametrize(("sick", "named"), [(True, "out-of-memory"), (False, "healthy")])
def test_scores_that_fail_beyond_a_limit_and_then_go_by_blocks(
    sick: bool, named: str, tmp_path: Path
) -> None:
    """The allocations of problem 6's out-of-memory-scores: 16 heads, 8,192 tokens of 64 in bf16."""
    device = Device()
    device.phase("load")
    for _ in range(4):
        device.new(16 * MIB, "inputs.py")  # with the result
    device.new(32 * MIB, "blas.py")

    def step() -> None:
        if sick:
            scores = device.new(2048 * MIB, "scores.py")
            device.fail(2048 * MIB, 70_000 * MIB, "softmax.py")
            device.drop(scores)
        for _ in range(8):
            device.drop(device.new(8 * MIB, "scores.py"), device.new(8 * MIB, "softmax.py"))

    steps(device, step)
    first = findings(device.capture(tmp_path))[0]
    assert first.id == named
    assert ("large intermediates" in first.title) == sick


def test_the_failing_program_of_a_stranger_is_told_as_it_stands_in_its_file() -> None:
    """Its history has 30 allocations of 1 GiB, none freed, and one that failed."""
    first = first_of(DATA / "memory/oom.pickle")
    assert (first.id, first.where) == ("out-of-memory", "app/loss.py:21 cross_entropy_loss")
    assert value(first, "asked for") == 4_202_692_608
    assert (
        value(first, "free on the device (largest free piece already reserved: none)")
        == 4_028_760_064
    )
    assert value(first, "held by 30 blocks of app/model.py:340 forward") == 30 << 30


@pytest.mark.parametrize(
    ("file", "repeats", "each"),
    [
        # Every second of 30 steps keeps a graph: the input and six outputs, 2048 x 1024 floats.
        (DATA / "held_out/snapshots/leak_losses.pickle.gz", 14, 7 * 2048 * 1024 * 4 + 512),
        # Each of 12 batches, 32 x 12 x 16384 floats, is kept with what four convolutions of 64
        # channels and their normalisations return (first_sight/p40.py).
        (DATA / "memory/p40.pickle.zst", 11, 32 * 16384 * (12 + 8 * 64) * 4),
        # Each of 4 x 8 passes keeps a tanh of 256 x 1024 floats, and a loss.
        (ZOO_CAPTURES / "leak-history.sick.memory.json.gz", 31, 256 * 1024 * 4 + 512),
    ],
)
def test_what_a_repeat_leaves_in_a_real_history_is_what_its_graph_saves(
    file: Path, repeats: int, each: int
) -> None:
    capture = Capture("real", {name: empty(name) for name in SCHEMAS} | tables_of(file), {})
    (peak,) = conclude.diagnose([capture]).memory
    assert peak.growth is not None
    assert peak.growth.repeats == repeats
    assert peak.growth.bytes == pytest.approx(each, rel=1e-4)


def test_logits_that_fill_a_limit_are_told_from_pieces_in_a_real_history() -> None:
    """8,192 rows of 131,072 words (first_sight/p43.py): fp32, log-softmax, and no third copy."""
    first = first_of(DATA / "memory/p43.pickle.gz")
    logits = 8192 * 131072 * 4
    assert (first.id, first.where.split(":")[0]) == ("out-of-memory", "first/p43.py")
    assert "large intermediates" in first.title
    assert value(first, "asked for") == logits
    assert value(first, "held by 2 blocks larger than all others") == 2 * logits
    assert not any("expandable_segments" in fix for fix in first.fix)


def test_of_two_lines_the_one_that_adds_most_is_the_spike(tmp_path: Path) -> None:
    device = Device()
    device.new(64 * MIB)

    def step() -> None:
        made = [device.new(256 * MIB, "first.py")]
        made += [device.new(200 * MIB, "second.py") for _ in range(2)]
        device.drop(*made)

    steps(device, step)
    first = findings(device.capture(tmp_path))[0]
    assert (first.id, first.where) == ("transient-spike", "w/second.py:1 f")


def test_ragged_sizes_fragment(tmp_path: Path) -> None:
    """Each batch is longer than those before, so that no free segment is large enough."""
    device = Device()
    for length in range(12):
        device.drop(device.new((32 + 8 * length) * MIB))
    first = findings(device.capture(tmp_path))[0]
    assert first.id == "fragmentation"
    assert first.gain == pytest.approx(1 - device.peak_allocated / device.peak_reserved)


@pytest.mark.parametrize(("ends", "grows"), [(1, True), (-1, False)])
def test_a_tensor_that_grows_is_told_from_sizes_that_vary(
    tmp_path: Path, ends: int, *, grows: bool
) -> None:
    """A cache of keys and values that torch.cat lengthens, or batches of up and down."""
    device = Device()
    kept = device.new(24 * MIB, "load.py")
    for length in [32 + 8 * turn if ends > 0 else 32 + 8 * (turn * 7 % 12) for turn in range(12)]:
        longer = device.new(length * MIB, "cache.py")
        device.drop(kept)
        kept = longer
    first = findings(device.capture(tmp_path))[0]
    assert first.id == "fragmentation"
    assert ("tensors that grow" in first.title) == grows
    assert not grows or first.where == "w/cache.py:1 f"


@pytest.mark.parametrize("ragged", [0, 2])
def test_graphs_kept_in_a_list_leak_though_a_step_frees_little(tmp_path: Path, ragged: int) -> None:
    device = Device()
    device.new(16 * MIB, "load.py")
    for number in range(16):
        rows = 16 + ragged * (number % 3)
        for layer in range(4):
            device.new(rows * MIB, f"layer{layer}.py")
            device.drop(device.new(MIB, "norm.py"))
        device.new(4, "loss.py")
    assert findings(device.capture(tmp_path))[0].id == "leak"


def test_one_pass_that_ends_in_a_head_is_no_leak(tmp_path: Path) -> None:
    device = Device()
    for number in range(16):
        for layer in range(4):
            device.new(16 * MIB, f"layer{layer}.py")
            device.drop(device.new(MIB, "norm.py"))
        device.new(4, "scale.py")
        if number == 15:
            device.new(48 * MIB, "head.py")
    assert findings(device.capture(tmp_path))[0].id == "healthy"


def test_the_peak_is_told_by_line_of_a_history_that_begins_late(tmp_path: Path) -> None:
    device = Device()
    device.new(256 * MIB, "weights.py")
    lost = len(device.history)
    for _ in range(3):
        made = [device.new(32 * MIB, f"layer{layer % 2}.py") for layer in range(6)]
        device.drop(*made)
    device.new(8 * MIB, "kept.py")
    capture = device.capture(tmp_path, lost)
    (peak,) = conclude.diagnose([capture]).memory
    assert findings(capture)[0].id == "healthy"
    assert (peak.allocated, peak.before) == ((256 + 6 * 32) * MIB, 256 * MIB)
    held = [(each.site, each.bytes, each.blocks) for each in peak.sites]
    assert held == [(f"w/layer{layer}.py:1 f", 96 * MIB, 3) for layer in (0, 1)]
    assert (peak.start, peak.end) == (256 * MIB, 264 * MIB)
    assert [each.site for each in peak.left] == ["w/kept.py:1 f"]


def test_many_activations_are_no_spike(tmp_path: Path) -> None:
    device = Device()
    device.phase("load")
    device.new(8 * MIB)

    def step() -> None:
        device.drop(*[device.new(32 * MIB) for _ in range(30)])

    steps(device, step)
    assert [each.id for each in findings(device.capture(tmp_path))] == ["healthy"]


@pytest.mark.parametrize(("heads", "named"), [(3, True), (0, False)])
def test_a_spike_stands_out_from_activations_larger_than_weights(
    tmp_path: Path, heads: int, *, named: bool
) -> None:
    """The loss makes its gradient in blocks as large, of another line: they go with it."""
    device = Device()
    device.new(8 * MIB)

    def step() -> None:
        activations = [device.new(32 * MIB, "block.py") for _ in range(20)]
        device.drop(*[device.new(512 * MIB, "loss.py") for _ in range(heads)])
        device.drop(*[device.new(512 * MIB, "backward.py") for _ in range(heads - 1)])
        device.drop(*activations)

    steps(device, step)
    first = findings(device.capture(tmp_path))[0]
    assert first.id == ("transient-spike" if named else "healthy")
    if named:
        assert first.where == "w/loss.py:1 f"
        assert first.gain == pytest.approx(heads * 512 * MIB / device.peak_reserved, rel=0.02)


def first_of(path: Path) -> Finding:
    tables = {name: empty(name) for name in SCHEMAS} | tables_of(path)
    return findings(Capture("real", tables, {}))[0]


def value(finding: Finding, metric: str) -> float:
    return next(each.value for each in finding.evidence if each.metric.startswith(metric))


def test_weights_that_are_dequantised_at_once_are_a_spike() -> None:
    """torchao 0.13.0 holds 12 bytes a weight in fp32, in three blocks, and a bf16 result."""
    first = first_of(DATA / "memory/stack_013_eager.json.gz")
    assert first.id == "transient-spike"
    assert "_dequantize_affine_float8" in first.where
    assert value(first, "of them in the 3 largest") == 12 * 4096 * 4096
    assert value(first, "short-lived bytes") == pytest.approx(14 * 4096 * 4096, rel=1e-3)


def test_a_graphs_pool_beside_which_others_grew_is_dead() -> None:
    (path,) = (
        path
        for folder in COMMITTED
        for path in folder.glob("captures/*.f8-0.13.0-graphs-alone.memory.json.gz")
    )
    first = first_of(path)
    assert first.id == "dead-pool"
    assert first.gain == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("name", ["stack_013_graphs", "stack_bf16_graphs"])
def test_a_graph_alone_with_its_pool_is_healthy(name: str) -> None:
    assert first_of(DATA / f"memory/{name}.json.gz").id == "healthy"
