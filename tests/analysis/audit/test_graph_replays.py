"""A replayed kernel belongs where it was launched while its graph was captured, or nowhere."""

import gzip
import json
from collections import Counter
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.analysis import graph_replays, summary
from harness.analysis.audit import conclude, placed_ops
from harness.cli import graph_captures
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.extract import door
from harness.ground.errors import UsageError
from harness.view import lanes, panel
from tests.support import nsys_exports
from tests.support.paths import DATA

SERVING = DATA / "serving"
ENGINES = ("vllm_decode_full", "sglang_qwen3_8b_decode")
LAYER = "nn.Module: Qwen3DecoderLayer_"

Event = dict[str, Any]


def events(file: Path) -> list[Event]:
    found: list[Event] = json.loads(gzip.decompress(file.read_bytes()))["traceEvents"]
    return found


def opened(file: Path) -> Capture:
    return door.capture(file).captures["torch"]


def audited(trace: Path, capture: Path) -> conclude.Audit:
    return conclude.audit([opened(trace)], opened(capture))


@cache
def of_published(name: str) -> conclude.Audit:
    return audited(*of_engine(name))


def of_engine(name: str) -> tuple[Path, Path]:
    return SERVING / f"{name}.json.gz", SERVING / f"{name}.capture.json.gz"


def replayed_and_launched(name: str) -> list[tuple[Event, Event]]:
    """Return each kernel of the replay and the launch that it was captured from, by their order."""
    trace, capture = map(events, of_engine(name))
    (launch,) = (each for each in trace if each["name"] == "hipGraphLaunch")
    graph = launch["args"]["correlation"]
    kernels = [
        each for each in trace if each["cat"] == "kernel" and each["args"]["correlation"] == graph
    ]
    begin, end = (
        next(each["ts"] for each in capture if each["name"] == f"hipStream{edge}Capture")
        for edge in ("Begin", "End")
    )
    launches = [
        each
        for each in capture
        if each["cat"] == "cuda_runtime" and "Launch" in each["name"] and begin < each["ts"] < end
    ]
    pairs = zip(*(sorted(of, key=lambda e: e["ts"]) for of in (kernels, launches)), strict=True)
    return list(pairs)


def around(launch: Event, capture: list[Event], what: str) -> list[Event]:
    """Return the spans of a category that hold a launch, the outermost first."""
    at = launch["ts"]
    held = [e for e in capture if e["cat"] == what and e["ts"] <= at <= e["ts"] + e["dur"]]
    return sorted(held, key=lambda each: (each["ts"], -each["dur"]))


@pytest.mark.parametrize("name", ENGINES)
def test_the_time_of_each_operator_is_that_of_the_raw_traces(name: str) -> None:
    capture = events(of_engine(name)[1])
    expected: Counter[str] = Counter()
    for kernel, launch in replayed_and_launched(name):
        assert kernel["name"] == launch["args"]["kernel"]
        expected[around(launch, capture, "cpu_op")[-1]["name"]] += round(1000 * kernel["dur"])
    audit = of_published(name)
    found: Counter[str] = Counter()
    for row in audit.rows:
        found[row.operator] += round(1e6 * row.ms)
    alone = {"aten::mm", "aten::copy_", "aten::index", "aten::add"}  # also launched by themselves
    assert expected.keys() - alone
    for operator in expected.keys() - alone:
        assert found[operator] == pytest.approx(expected[operator], abs=2), operator
    assert audit.phases == {"decode": pytest.approx(audit.busy_ms)}
    assert audit.replays == 1


def test_a_layer_is_what_stands_in_the_numbered_modules() -> None:
    name = "sglang_qwen3_8b_decode"
    capture = events(of_engine(name)[1])
    layers: Counter[str] = Counter()
    products: Counter[str] = Counter()
    for kernel, launch in replayed_and_launched(name):
        modules = [each["name"] for each in around(launch, capture, "python_function")]
        layer = next((each for each in modules if each.startswith(LAYER)), None)
        if layer:
            layers[layer] += round(1000 * kernel["dur"])
            if "MergedColumnParallelLinear" in modules[-1]:
                products[layer] += round(1000 * kernel["dur"])
    found = of_published(name).layers
    assert found is not None
    assert (found.name, found.count, len(layers)) == ("Qwen3DecoderLayer", 36, 36)
    # A kernel that starts before the one ahead of it ends waits: its own time is a little shorter.
    assert found.ms == pytest.approx(layers.total() / 1e6, rel=2e-3)
    (gate_and_up,) = (part for part in found.parts if "MergedColumn" in part.place)
    assert gate_and_up.place == "Qwen2MLP / MergedColumnParallelLinear"
    assert gate_and_up.ms == pytest.approx(products.total() / 36 / 1e6, rel=2e-3)


def test_the_layers_of_a_compiled_model_repeat_its_operators() -> None:
    name = "vllm_decode_full"
    capture = events(of_engine(name)[1])
    times: Counter[str] = Counter()
    for kernel, launch in replayed_and_launched(name):
        times[around(launch, capture, "cpu_op")[-1]["name"]] += round(1000 * kernel["dur"])
    found = of_published(name).layers
    assert found is not None
    assert (found.name, found.begins, found.count) == ("", "_C::rotary_embedding", 24)
    parts = {part.operator: part for part in found.parts}
    for operator in ("vllm::moe_forward", "vllm::unified_attention_with_output", "SortTokens"):
        assert parts[operator].ms == pytest.approx(times[operator] / 24 / 1e6, rel=2e-3)


def changed(source: Path, folder: Path, change: Any) -> Path:
    file = folder / source.name
    made = [each for each in map(change, events(source)) if each]
    file.write_bytes(gzip.compress(json.dumps({"traceEvents": made}).encode()))
    return file


def test_a_replay_of_other_operations_is_left_as_it_was(tmp_path: Path) -> None:
    trace, capture = of_engine("vllm_decode_full")
    missing = changed(trace, tmp_path, lambda e: e if e["name"] != "triton_poi_fused_0" else None)
    audit = audited(missing, capture)
    assert audit.phases["CUDA graph"] == pytest.approx(0.969 * audit.busy_ms, rel=2e-3)
    assert (audit.replays, audit.layers) == (0, None)
    assert any("420 operations, the captured graphs have 421" in each for each in audit.unsaid)

    def renamed(event: Event) -> Event:
        is_it = event["cat"] == "kernel" and event["name"] == "_topk_forward"
        return event | {"name": "another"} if is_it else event

    audit = audited(changed(trace, tmp_path, renamed), capture)
    assert "CUDA graph" in audit.phases
    said = "its operation 11 of 421 is another, captured was _topk_forward"
    assert any(said in each for each in audit.unsaid)


def test_launches_without_names_are_compared_by_number_and_kind(tmp_path: Path) -> None:
    trace, capture = of_engine("sglang_qwen3_8b_decode")

    def unnamed(event: Event) -> Event:
        kept = {key: value for key, value in event["args"].items() if key != "kernel"}
        return event | {"args": kept, "name": event["name"].replace("hip", "cuda")}

    audit = audited(trace, changed(capture, tmp_path, unnamed))
    assert audit.layers == of_published("sglang_qwen3_8b_decode").layers
    assert any("names no kernels" in each for each in audit.unsaid)


def replay(correlation: int, names: str, **more: int | None) -> list[dict[str, object]]:
    row = {"correlation": correlation, "device": 0, "kind": "kernel", "step": 0} | more
    nodes = more.get("graph_node")
    return [
        row
        | {"name": name, "start_ns": 100 * correlation + at}
        | {"graph_node": nodes and nodes - at}
        for at, name in enumerate(names)
    ]


def captured(graph: int, names: str, scope: str) -> list[dict[str, object]]:
    return [
        {"graph": graph, "kind": "kernel", "name": name, "operator": f"op {name}"}
        | {"node": None, "scope": f"capture_8_FULL / {scope}"}
        for name in names
    ]


def placed(
    replays: list[list[dict[str, object]]], graphs: list[list[dict[str, object]]]
) -> graph_replays.Replays:
    columns = evidence.SCHEMAS["captured_launches"]
    rows = [row for graph in graphs for row in graph]
    launches = evidence.frame(
        "captured_launches", {name: [row.get(name) for row in rows] for name in columns}
    )
    ops = pl.DataFrame([op for each in replays for op in each], infer_schema_length=None)
    return graph_replays.replays(ops.cast({"graph_node": pl.Int64}), launches)


def test_pieces_of_a_model_are_replayed_in_the_order_of_their_capture() -> None:
    graphs = [captured(0, "ab", "Layer_0"), captured(1, "ab", "Layer_1")]
    found = placed([replay(7, "ab"), replay(9, "ab")], graphs)
    assert found.origins.select("correlation", "place", "operator", "scope").rows() == [
        (7, 0, "op a", "Layer_0"),
        (7, 1, "op b", "Layer_0"),
        (9, 0, "op a", "Layer_1"),
        (9, 1, "op b", "Layer_1"),
    ]
    again = placed([replay(7, "ab")], graphs)  # two fit, and say the same but for the number
    assert again.origins["scope"].to_list() == ["Layer_0", "Layer_0"]
    other = placed([replay(7, "ab")], [captured(0, "ab", "Layer_0"), captured(1, "ab", "Head_0")])
    assert (other.placed, other.origins.height) == (0, 0)
    assert other.refused == (
        "1 replay: 2 captured graphs fit, and place its operations differently",
    )


def test_numbered_nodes_count_and_not_their_starts() -> None:
    found = placed([replay(7, "ba", graph_node=12)], [captured(0, "ab", "Layer_0")])
    assert found.origins["operator"].to_list() == ["op a", "op b"]


def test_inspect_and_the_page_say_the_same_layers() -> None:
    trace, capture = of_engine("sglang_qwen3_8b_decode")
    told = summary.by_kind(opened(trace), opened(capture))
    layers = of_published("sglang_qwen3_8b_decode").layers
    assert layers is not None
    assert told["layers"] == asdict(layers)
    page = panel.of(door.capture(trace), opened(capture))
    assert [row["ms"] for row in page.shown["tables"]["One layer: mean of all, ms"]] == [
        part.ms for part in layers.parts
    ]
    assert summary.by_kind(opened(trace))["unplaced"] == ()
    belongings = placed_ops.belongings(
        opened(trace).tables, opened(capture).tables["captured_launches"]
    )
    drawn = lanes.timeline(opened(trace), belongings)
    details = [text for lane in drawn.lanes for text in lane.events["detail"].drop_nulls()]
    down = "Qwen3Model_0 / Qwen3DecoderLayer_7 / Qwen2MLP_7 / RowParallelLinear_15: aten::mm"
    assert details.count(down) == 1


def test_a_file_without_a_capture_is_refused() -> None:
    with pytest.raises(UsageError, match="no CUDA graph was captured in it"):
        graph_captures.of([], DATA / "torch" / "streams.json.gz")


def test_a_node_of_nsys_belongs_to_the_ranges_of_its_capture(tmp_path: Path) -> None:
    """The export's graph has three layers of four kernels; a range is laid around the second."""
    nodes = "CUDA_GRAPH_NODE_EVENTS WHERE originalGraphNodeId IS NULL AND graphNodeId"
    first, last = (f"(SELECT start FROM {nodes} = {4294967296 + at})" for at in (4, 7))
    path = nsys_exports.altered(
        "graph_node",
        tmp_path,
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid)"
        f" SELECT {first} - 1, {last} + 1, 59, 'layer 1', globalTid FROM {nodes} = 4294967296",
    )
    warm = "CUPTI_ACTIVITY_KIND_KERNEL WHERE correlationId > 8"  # 8 launches the first replay
    kernels = f"{warm} AND graphNodeId BETWEEN 8589934596 AND 8589934599"
    (expected,) = nsys_exports.rows(path, f"SELECT sum(end - start) FROM {kernels}")
    audit = conclude.audit([door.capture(path).captures["nsys"]])
    inside = [row for row in audit.rows if row.path == "layer 1"]
    assert sum(row.ms for row in inside) * audit.steps == pytest.approx(expected[0] / 1e6)
    assert (audit.steps, audit.replays) == (4, 4)


def test_a_capture_beside_the_trace_is_found(tmp_path: Path) -> None:
    trace = tmp_path / "run.json.gz"
    for name in ("run.json.gz", "graph_capture_rank_0.pt.trace.json.gz"):
        (tmp_path / name).touch()
    assert graph_captures.beside(trace) == tmp_path / "graph_capture_rank_0.pt.trace.json.gz"
    (tmp_path / "graph_capture_rank_1.pt.trace.json.gz").touch()
    assert graph_captures.beside(trace) is None
    (tmp_path / "run.capture.json").touch()
    assert graph_captures.beside(trace) == tmp_path / "run.capture.json"
