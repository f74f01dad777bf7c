"""Every kernel belongs to the phase and the module that launched it, whatever its name or place."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from harness.analysis import intervals, timeline
from harness.analysis.audit import conclude
from harness.captures.torch.read import read
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.evidence.tables import Tables
from harness.ground.errors import EvidenceError, UsageError
from tests.support.paths import ROOT
from tests.support.training_trace import (
    AUTOGRAD,
    MAIN,
    Event,
    Kernel,
    Layer,
    Step,
    events,
    gpt2_kernels,
    graph_replay,
    write,
)

LINEAR = Layer(
    "Linear_3",
    "aten::addmm",
    "AddmmBackward0",
    [Kernel("gemm", 40)],
    [Kernel("gemm", 30), Kernel("gemm", 20)],
)
NORM = Layer(
    "LayerNorm_4",
    "aten::native_layer_norm",
    "NativeLayerNormBackward0",
    [Kernel("norm", 5)],
    [Kernel("norm_backward", 7)],
)
STEP = Step([LINEAR, NORM])


def captured(folder: Path, of: list[Event]) -> Capture:
    found = read(write(folder / "trace.json", of))
    whole = {name: found.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}
    return Capture("trace.json", whole, {}, "torch")


def audited(folder: Path, of: list[Event]) -> conclude.Audit:
    return conclude.audit([captured(folder, of)])


def times(audit: conclude.Audit) -> dict[tuple[str, str], float]:
    """Return the µs a step by phase and path."""
    found: Counter[tuple[str, str]] = Counter()
    for row in audit.rows:
        found[row.phase, row.path] += round(1000 * row.ms)
    return dict(found)


EXPECTED = {
    ("forward", "Linear_*"): 40,
    ("forward", "LayerNorm_*"): 5,
    ("backward", "Linear_*"): 50,
    ("backward", "LayerNorm_*"): 7,
    ("optimizer", "Optimizer.step#AdamW.step"): 10,
}


def test_a_kernel_belongs_to_the_module_whose_operator_made_its_node(tmp_path: Path) -> None:
    audit = audited(tmp_path, events(STEP))
    assert times(audit) == EXPECTED
    assert audit.steps == 2
    assert audit.unattributed == 0


def test_a_renamed_kernel_stays_where_it_was_launched(tmp_path: Path) -> None:
    renamed = replace(NORM, backward=[Kernel("adamw_gemm_encoder_forward", 7)])
    assert times(audited(tmp_path, events(Step([LINEAR, renamed])))) == EXPECTED


def test_an_extra_split_k_reduction_adds_to_its_own_module_alone(tmp_path: Path) -> None:
    split = replace(LINEAR, backward=[*LINEAR.backward, Kernel("splitKreduce_kernel", 3)])
    found = times(audited(tmp_path, events(Step([split, NORM]))))
    assert found == EXPECTED | {("backward", "Linear_*"): 53}


def test_the_order_of_layers_does_not_matter(tmp_path: Path) -> None:
    assert times(audited(tmp_path, events(Step([NORM, LINEAR])))) == EXPECTED


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("Qwen2_5_VLMLP_7", "Qwen2_5_VLMLP_*"),
        ("block_3_attention", "block_*_attention"),
        ("layers.3.mlp", "layers.*.mlp"),
    ],
)
def test_a_layer_s_number_is_none_of_its_class_s_name(
    tmp_path: Path, module: str, path: str
) -> None:
    found = times(audited(tmp_path, events(Step([replace(LINEAR, module=module), NORM]))))
    assert ("forward", path) in found


def test_kernels_on_two_streams_share_the_time_in_which_both_run(tmp_path: Path) -> None:
    side = replace(NORM, forward=[Kernel("norm", 5), Kernel("copy", 400, stream=9)])
    audit = audited(tmp_path, events(Step([LINEAR, side])))
    found = times(audit)
    assert found.keys() == EXPECTED.keys()
    assert found["forward", "LayerNorm_*"] < 405
    assert sum(found.values()) == pytest.approx(1000 * audit.busy_ms, abs=len(found))
    assert audit.overlap_ms > 0
    assert audit.busy_ms <= audit.traced_ms


def test_kernels_of_a_graph_are_named_as_such(tmp_path: Path) -> None:
    audit = audited(tmp_path, graph_replay([Kernel("a", graph_node=3), Kernel("b", graph_node=4)]))
    assert audit.phases == {"CUDA graph": pytest.approx(0.02)}
    assert any("CUDA graphs" in sentence for sentence in audit.unsaid)


def test_a_kernel_without_a_launch_is_refused_above_one_percent(tmp_path: Path) -> None:
    few = audited(tmp_path, events(replace(STEP, strays=[Kernel("stray", 1)])))
    assert few.unattributed == pytest.approx(1 / 113, abs=1e-4)
    few.complete()
    many = audited(tmp_path, events(replace(STEP, strays=[Kernel("stray", 2)])))
    with pytest.raises(EvidenceError, match=r"1\.8 % of the GPU's time is unattributed"):
        many.complete()


def test_the_sequence_that_a_positional_script_miscounts_keeps_its_phases(tmp_path: Path) -> None:
    """llm.c's own script gives 401, 448 or 460 ms for such changes to one step's kernels."""
    layers = list(gpt2_kernels())
    split = [Kernel("splitKreduce_kernel", 1000)]
    old_names = replace(layers[0], backward=[Kernel("encoder_backward_kernel", 1000)] * 2)
    with_split = replace(layers[-1], backward=[*layers[-1].backward, *split])
    phases = [
        audited(tmp_path, events(Step(each))).phases
        for each in (layers, [old_names, *layers[1:]], [*layers[:-1], with_split])
    ]
    assert phases[0] == phases[1]
    assert phases[0]["backward"] == pytest.approx(2 + 2 * (1 + 3) + 1)
    assert phases[0]["loss"] == pytest.approx(1)
    assert phases[2] == phases[0] | {"backward": pytest.approx(phases[0]["backward"] + 1)}


def test_what_was_launched_before_the_trace_began_is_in_no_step(tmp_path: Path) -> None:
    early = {"ph": "X", "cat": "kernel", "name": "early", "pid": 0, "tid": 7, "ts": 2, "dur": 30}
    made = [early | {"args": {"correlation": 9999, "device": 0, "stream": 7}}, *events(STEP)]
    audit = audited(tmp_path, made)
    assert times(audit) == EXPECTED
    assert any("0.03 ms of operations ran before" in sentence for sentence in audit.unsaid)


def test_a_graph_s_launch_is_known_by_its_call_where_kernels_name_no_node(tmp_path: Path) -> None:
    audit = audited(tmp_path, graph_replay([Kernel("a"), Kernel("b")]))
    assert audit.phases == {"CUDA graph": pytest.approx(0.02)}


def test_recomputation_counts_where_its_own_thread_entered(tmp_path: Path) -> None:
    """A checkpointed module runs forward again within a node, on autograd's thread."""
    made = events(STEP, steps=1)
    node = next(each for each in made if each["name"].endswith("NativeLayerNormBackward0"))
    span = {"tid": node["tid"], "ts": node["ts"] + 0.5, "dur": node["dur"] - 0.75, "pid": 1}
    module = {"ph": "X", "cat": "python_function", "name": "nn.Module: Again_0", "args": {}}
    found = times(audited(tmp_path, [*made, module | span]))
    assert ("backward", "Again_*") in found
    assert ("backward", "LayerNorm_*") not in found


def test_a_step_s_kernels_are_those_of_its_backward_pass_too(tmp_path: Path) -> None:
    made = captured(tmp_path, events(STEP)).tables
    assert made["autograd_threads"].rows() == [(AUTOGRAD, MAIN)]
    of_steps = {"ranges": made["ranges"].filter(pl.col("name") != "Optimizer.step#AdamW.step")}
    named = of_steps["ranges"].with_columns(name=pl.lit("step:made").cast(pl.Categorical))
    tables = made | {"ranges": named}
    counted = timeline.step_activity(tables["gpu_ops"], tables, "step:made")
    assert counted["kernels"].to_list() == [6, 6]
    assert counted["busy_ns"].to_list() == [1000 * sum(EXPECTED.values())] * 2


def test_a_thread_that_also_runs_forward_is_none_of_autograd_s(tmp_path: Path) -> None:
    """Nodes of the CPU run on the thread that calls backward()."""
    made = [each | {"tid": MAIN} if each["tid"] == AUTOGRAD else each for each in events(STEP)]
    assert captured(tmp_path, made).tables["autograd_threads"].is_empty()


def test_torch_s_annotation_of_the_optimizer_alone_puts_nothing_outside(tmp_path: Path) -> None:
    made = [each for each in events(STEP) if each["cat"] != "python_function"]
    assert audited(tmp_path, made).phases.keys() == {"forward", "backward", "optimizer"}


def test_steps_that_run_side_by_side_share_the_time_of_a_busy_gpu(tmp_path: Path) -> None:
    """The first step's copy is still running when the second step's kernels start."""
    copy = replace(NORM, backward=[Kernel("norm_backward", 7), Kernel("copy", 150_000, stream=9)])
    capture = captured(tmp_path, events(Step([LINEAR, copy])))
    ran = capture.tables["gpu_ops"].select(
        "start_ns", end_ns=pl.col("start_ns") + pl.col("duration_ns")
    )
    covered = intervals.length(intervals.union(ran))
    audit = conclude.audit([capture])
    assert audit.steps * audit.busy_ms == pytest.approx(covered / 1e6, abs=1e-5)
    assert sum(audit.phases.values()) == pytest.approx(audit.busy_ms)


def test_a_real_trace_of_two_streams_is_attributed_whole() -> None:
    found = read(ROOT / "tests" / "data" / "torch" / "streams.json.gz")
    whole = {name: found.get(name, evidence.empty(name)) for name in evidence.SCHEMAS}
    audit = conclude.audit([Capture("streams", whole, {}, "torch")])
    assert audit.unattributed == 0
    assert sum(audit.phases.values()) == pytest.approx(audit.busy_ms, rel=1e-3)


def ranged(tables: Tables) -> Capture:
    """Return what Nsight Systems would know of a torch trace's program: calls and ranges."""
    forgotten = {name: evidence.empty(name) for name in ("origins", "operators")}
    return Capture("x.sqlite", tables | forgotten, {}, "nsys")


def test_an_export_of_nsight_systems_is_attributed_by_its_ranges(tmp_path: Path) -> None:
    made = events(STEP, steps=1)
    modules = [each for each in made if each["cat"] == "python_function"]
    made += [each | {"cat": "user_annotation", "name": each["name"][11:]} for each in modules]
    made.append(modules[0] | {"cat": "user_annotation", "name": "model", "ts": 1, "dur": 60})
    audit = conclude.audit([ranged(captured(tmp_path, made).tables)])
    assert times(audit) == {
        ("forward", "model / Linear_*"): 40,
        ("forward", "model / LayerNorm_*"): 5,
        ("backward", "model"): 57,
        ("optimizer", "model / Optimizer.step#AdamW.step"): 10,
    }
    assert "No operators and modules" in audit.unsaid[0]
    assert audit.unattributed == 0


def test_a_range_that_torch_names_after_an_operator_is_one(tmp_path: Path) -> None:
    tables = captured(tmp_path, events(STEP, steps=1)).tables
    torchs_own = tables["operators"].select("name")
    assert "aten::addmm" in torchs_own["name"].to_list()
    launch = tables["api_calls"].sort("start_ns").row(0, named=True)
    named = {"name": ["aten::addmm, seq = 7, op_id = 9"], "thread": [MAIN]}
    named |= {"start_ns": [launch["start_ns"] - 1], "duration_ns": [3000]}
    more = evidence.frame("ranges", named)
    audit = conclude.audit([ranged(tables | {"ranges": pl.concat([tables["ranges"], more])})])
    row = next(each for each in audit.rows if each.operator == "aten::addmm")
    assert (row.phase, row.kernel) == ("forward", "gemm")
    assert row.ms == pytest.approx(0.04)


def test_ranges_of_nothing_leave_all_outside(tmp_path: Path) -> None:
    tables = captured(tmp_path, events(STEP)).tables
    ranges = tables["ranges"].filter(pl.col("name").cast(pl.String).str.starts_with("Profiler"))
    phases = conclude.audit([ranged(tables | {"ranges": ranges})]).phases
    assert phases == {"backward": pytest.approx(0.057), "outside": pytest.approx(0.055)}


def test_without_a_torch_trace_the_audit_says_what_it_needs() -> None:
    nothing = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    with pytest.raises(UsageError, match=r"name a trace of torch\.profiler"):
        conclude.audit([Capture("x.sqlite", nothing, {}, "nsys")])
