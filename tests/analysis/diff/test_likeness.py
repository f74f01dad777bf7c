"""What is said before a difference: captures made differently, or of other programs."""

import polars as pl
import pytest

from harness.analysis.diff import compare, gpu, likeness
from harness.evidence.subject import Subject
from harness.evidence.tables import Tables
from harness.extract import door
from tests.support.paths import DATA
from tests.support.timelines import Op, rows, timeline

STEP = [Op("gemm_64x64", 9_000), Op("softmax", 4_000)]


def said(a: Tables, b: Tables, **made: tuple[str, str]) -> list[str]:
    sides = [{what: values[at] for what, values in made.items()} for at in (0, 1)]
    diff = gpu.compare(a, b)
    return [*likeness.unlike(diff, *sides), *filter(None, [likeness.other_programs(diff, *sides)])]


def test_one_program_made_alike_needs_no_word() -> None:
    tiles = [Op("gemm_128x128", 9_000), Op("softmax", 5_000)]
    alike = {"GPU": ("NVIDIA H200",) * 2, "tracing": ("CUDA graphs by node",) * 2}
    assert said(timeline([STEP] * 3), timeline([tiles] * 3), **alike) == []


def test_another_gpu_is_said_first() -> None:
    once = timeline([STEP])
    assert said(once, once, GPU=("NVIDIA H100", "AMD Instinct MI300X")) == [
        "A ran on NVIDIA H100, B on AMD Instinct MI300X."
    ]


def test_numbers_of_steps_and_gpus_are_said() -> None:
    assert said(timeline([STEP] * 6), timeline([STEP] * 12)) == ["A holds 6 steps, B 12."]
    assert said(timeline([STEP]), timeline([STEP] * 2)) == ["A holds 1 step, B 2."]
    assert said(timeline([STEP]), timeline([STEP], mark="step:other")) == [
        "The steps of A are marked by step:made, those of B marked by step:other."
    ]
    one = timeline([STEP], mark="")
    moved = one["gpu_ops"].with_columns(
        device=pl.lit(1, pl.Int64), correlation=pl.col("correlation") + 100
    )
    two = one | {"gpu_ops": pl.concat([one["gpu_ops"], moved])}
    assert said(one, two) == ["A ran on 1 GPU, B on 2 GPUs."]


def test_programs_without_a_common_kernel_are_told_apart() -> None:
    a = timeline([STEP])
    b = timeline([[Op("conv", 9_000), Op("relu", 4_000)]])
    assert said(a, b) == ["A and B have no kernel in common: they may be different programs."]
    mostly = timeline([[Op("gemm", 39_000), Op("softmax", 1_000)]])
    (little,) = said(mostly, timeline([[Op("conv", 9_000), Op("softmax", 1_000)]]))
    assert "take 2 % of A's kernel time, 10 % of B's" in little
    fewer = timeline([[Op("softmax", 1_000)]])
    assert said(mostly, fewer) == []  # the remaining kernel was there before


def test_generated_kernels_of_one_kind_are_in_common() -> None:
    a = timeline([[Op("triton_red_fused_mm_t_1", 9_000)]])
    b = timeline([[Op("triton_red_fused__to_copy_mm_mul_t_0", 4_000)]])
    assert said(a, b) == []


def test_graphs_traced_in_two_ways_are_said_where_there_are_graphs() -> None:
    tracing = ("CUDA; CUDA graphs as a whole", "CUDA; CUDA graphs by node")
    whole = timeline([[Op("[CUDA graph 1]", 13_000, kind="graph")]])
    (only,) = said(whole, timeline([STEP]), tracing=tracing)
    assert only.startswith(
        "A records CUDA graphs as a whole, B CUDA graphs by node: kernels inside"
    )
    assert said(timeline([STEP]), timeline([STEP]), tracing=tracing) == []


def test_tables_tell_gpu_and_tracing_where_the_reader_does_not() -> None:
    used = {"device": 0, "name": "NVIDIA B200"}
    idle = {"device": 1, "name": "NVIDIA T4"}
    plain = timeline([STEP]) | {"devices": rows("devices", [used, idle])}
    assert likeness.with_tables({}, plain) == {"GPU": "NVIDIA B200"}
    assert likeness.with_tables({"GPU": "told"}, plain) == {"GPU": "told"}
    graph = timeline([[Op("[CUDA graph 1]", 13_000, kind="graph")]])
    assert likeness.with_tables({}, graph) == {"tracing": "CUDA graphs as a whole"}
    nodes = plain["gpu_ops"].with_columns(graph_node=pl.lit(3, pl.Int64))
    assert likeness.with_tables({}, timeline([STEP]) | {"gpu_ops": nodes}) == {
        "tracing": "CUDA graphs by node"
    }


def test_what_a_recording_measured_is_no_setting() -> None:
    known = {"GPU": "x", "recorded": "5 ms", "tracing cost": "a lot", "not read": "T (3)"}
    assert likeness.settings(known) == {"GPU": "x"}


@pytest.mark.parametrize("name", ["graph_level", "graph_node"])
def test_real_exports_with_graphs_as_a_whole_and_by_node(name: str) -> None:
    graph, other = (
        opened(DATA / "nsys" / f"{each}.sqlite.zst")
        for each in (name, {"graph_level": "graph_node"}.get(name, "graph_level"))
    )
    diff = compare.compare(graph, other)
    assert [condition.what for condition in diff.differing] == ["tracing"]
    assert "GPU" in {condition.what for condition in diff.alike}
    (only,) = diff.unlike
    assert "kernels inside graphs are seen on one side only" in only
    assert compare.compare(graph, graph).unlike == ()


def opened(path: object) -> Subject:
    known = door.opened(str(path))
    assert isinstance(known, Subject)
    return known
