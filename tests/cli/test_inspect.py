"""``harness inspect`` on captures made on an H200, against what the profilers' own tools said."""

import csv
import gzip
import json
import re
import sqlite3
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from harness.analysis import summary, timeline_summary
from harness.captures import reading
from harness.cli.diagnose import diagnose
from harness.cli.inspect import inspect
from harness.evidence.kind import Kind
from harness.evidence.tables import FREED_POOL, frame
from harness.ground.errors import CaptureError
from tests.support.paths import DATA

app = typer.Typer()
app.command()(inspect)


def run(*arguments: object, **environment: Any) -> Any:
    """Run the command; what it printed, or the error that it raised."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], env=environment)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


def rows(name: str) -> Any:
    opened = gzip.open if name.endswith(".gz") else open
    with opened(DATA / name, "rt", newline="") as file:
        return list(csv.DictReader(file))


def fake_reader(monkeypatch: pytest.MonkeyPatch, kind: str, **tables: Any) -> None:
    """Let captures of ``kind`` hold tables made of columns, in place of any file's content."""
    made = {name: frame(name, columns) for name, columns in tables.items()}
    real = reading.read

    def read(asked: Kind, plain: Path, extent: reading.Extent) -> reading.Contents:
        known = real(asked, plain, extent)
        return replace(known, tables=made) if asked.name == kind else known

    monkeypatch.setattr(reading, "read", read)


@pytest.mark.parametrize("name", ["streams", "graph_node", "graph_level", "memset_overlap"])
def test_nsys_kernels_are_those_of_nsys_stats(name: str) -> None:
    found = json.loads(run(DATA / f"nsys/{name}.sqlite.zst", "--json"))
    assert found["kind"] == "nsys"
    truth = {row["Name"]: row for row in rows(f"nsys/{name}_cuda_gpu_kern_sum.csv")}
    kernels = {row["name"]: row for row in found["kernels"] if row["grid"] is not None}
    assert kernels.keys() == truth.keys()
    for kernel, row in kernels.items():
        assert row["count"] == int(truth[kernel]["Instances"])
        assert row["total_ns"] == int(truth[kernel]["Total Time (ns)"])
        assert row["median_ns"] == float(truth[kernel]["Med (ns)"])


def test_nsys_copies_and_ranges_are_those_of_nsys_stats() -> None:
    found = json.loads(run(DATA / "nsys/streams.sqlite.zst", "--json"))
    copies: dict[str, list[int]] = {}
    for row in found["copies"]:
        known = copies.setdefault(row["copy_kind"], [0, 0, 0])
        copies[row["copy_kind"]] = [
            one + row[key] for one, key in zip(known, ("count", "total_ns", "bytes"), strict=True)
        ]
    times = rows("nsys/streams_cuda_gpu_mem_time_sum.csv")
    assert sorted((count, total) for count, total, _ in copies.values()) == sorted(
        (int(row["Count"]), int(row["Total Time (ns)"])) for row in times
    )
    sizes = rows("nsys/streams_cuda_gpu_mem_size_sum.csv")
    assert sorted(round(size / 1e6, 3) for *_, size in copies.values()) == sorted(
        float(row["Total (MB)"]) for row in sizes
    )
    assert ("Device-to-Host", "pageable") in {
        (row["copy_kind"], row["memory"]) for row in found["copies"]
    }
    ranges = {row["name"]: row["total_ns"] for row in found["ranges"]}
    for row in rows("nsys/streams_nvtx_sum.csv"):
        assert ranges[row["Range"].removeprefix(":")] == int(row["Total Time (ns)"])


def test_torch_and_nsys_see_the_same_launches() -> None:
    counts = {}
    for kind, name in {"torch": "torch/streams.json.gz", "nsys": "nsys/streams.sqlite.zst"}.items():
        found = json.loads(run(DATA / name, "--json"))
        assert found["kind"] == kind
        gpu = found["gpu"]
        assert gpu["busy_ns"] + gpu["idle_ns"] == gpu["span_ns"]
        assert gpu["overlap_ns"] > 0
        assert len(gpu["devices"]) == 1
        counts[kind] = sorted(row["count"] for row in found["kernels"] if "gemm" in row["name"])
    assert sum(counts["torch"]) == sum(counts["nsys"]) == 24


def test_ncu_counters_are_those_of_its_own_page() -> None:
    found = json.loads(run(DATA / "ncu/small.ncu-rep.zst", "--json"))
    assert found["kind"] == "ncu"
    truth = rows("ncu/small.csv.gz")[1:]
    duration = [float(row["gpu__time_duration.sum"].replace(",", "")) for row in truth]
    assert [row["duration_ns"] for row in found["kernels"]] == duration
    for row, expected in zip(found["kernels"], truth, strict=True):
        registers = row["metrics"]["launch__registers_per_thread"]
        assert registers == row["registers"] == float(expected["launch__registers_per_thread"])
        stall = "smsp__average_warps_issue_stalled_wait_per_issue_active.ratio"
        for metric in (stall, "sass__inst_executed_register_spilling", "sm__cycles_active.max"):
            assert row["metrics"][metric] == pytest.approx(
                float(expected[metric].replace(",", "")), abs=0.006
            )
    text = run(DATA / "ncu/small.ncu-rep.zst")
    assert "nvjet_sm90" in text
    assert " 72.0 " in text


def test_memory_pools_add_up_to_the_allocators_own_totals() -> None:
    found = json.loads(run(DATA / "memory/graph.pickle.zst", "--json"))
    totals = json.loads((DATA / "memory/graph.json").read_text())
    assert found["kind"] == "memory"
    assert len(found["pools"]) == 2
    for key in ("allocated", "reserved"):
        assert sum(pool[f"{key}_bytes"] for pool in found["pools"]) == totals[key]
    assert "Pools" in run(DATA / "memory/graph.pickle.zst")


def test_memory_shows_parts_live_blocks_peaks_and_what_it_cannot_tell() -> None:
    found = json.loads(run(DATA / "memory/graph.pickle.zst", "--json"))
    parts = ("live", "rounding", "awaiting free", "free in used segments", "free segments")
    for pool in found["pools"]:
        assert sum(pool[part] for part in parts) == pool["reserved_bytes"]
    live = sum(row["bytes"] for row in found["live"])
    assert live == sum(pool["allocated_bytes"] for pool in found["pools"])
    assert found["phases"] == found["marks"] == []
    text = run(DATA / "memory/graph.pickle.zst", COLUMNS="400")
    assert "Live blocks" in text
    assert "Peaks by phase" not in text
    assert "No phases" in text
    assert "begins late" not in text
    assert "4.19 MB were reserved in such segments" in text
    old = run(DATA / "memory/stack_013_eager.json.gz", COLUMNS="400")
    assert "Peaks by phase" in old
    assert "Live blocks" not in old
    assert "No phases" not in old
    assert "Who holds 167.90 MB of what is allocated is not recorded" in old


def test_memory_that_was_not_recorded_is_a_dash_and_rows_are_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stacks = [f"m/{HOSTILE}{n}.py:1 f" for n in range(20)]
    tables = {
        "memory_pools": {
            "pool": ["default"],
            "segments": [1],
            "reserved_bytes": [9000],
            "allocated_bytes": [40],
        },
        "memory_parts": {
            "pool": ["default"] * 2,
            "part": ["live", "rounding"],
            "bytes": [40, None],
        },
        "memory_live": {"stack": stacks, "count": [1] * 20, "bytes": [2] * 20},
        "memory_marks": {
            "index": [0],
            "phase": ["load"],
            "used_bytes": [20_000],
            "outside_bytes": [11_000],
        },
        "memory_mark_parts": {
            "index": [0, 0],
            "pool": ["default"] * 2,
            "part": ["live", "rounding"],
            "bytes": [9000, None],
        },
    }
    fake_reader(monkeypatch, "memory", **tables)
    text = run(DATA / "memory/graph.pickle.zst")
    assert "… and 5 more: --json prints all" in text
    assert "\x1b" not in text
    line = next(line for line in text.splitlines() if line.startswith(" default"))
    assert line.split()[:6] == ["default", "1", "9.00", "kB", "40", "B"]
    assert line.count("\N{EN DASH}") == 4
    assert "11.00 kB" in text
    (mark,) = json.loads(run(DATA / "memory/graph.pickle.zst", "--json"))["marks"]
    assert mark["pools"] == {"default": 9000}
    assert mark["parts"] == {"default": {"live": 9000, "rounding": None}}


def planted(tmp_path: Path, **more: Any) -> Any:
    """A history of two graphs' pools, of which one is gone by its end, with marks."""
    mib = 1 << 20

    def standing(address: Any, pool: Any, allocated: int, **rest: int) -> Any:
        sizes = {"total_size": 8 * mib, "allocated_size": allocated, "requested_size": allocated}
        return sizes | {"address": address * mib, "segment_pool_id": [0, pool]} | rest

    def event(action: str, address: Any, size: int, time_us: int, line: int = 0) -> Any:
        frames = [{"filename": "/w/model.py", "line": at, "name": "f"} for at in range(line, 9)]
        made = {"action": action, "addr": address * mib, "size": size * mib, "time_us": time_us}
        return made | {"frames": frames if line else []}

    history = [
        event("segment_alloc", 0, 8, 1),
        event("segment_alloc", 10, 8, 2),
        *(event("alloc", 10 + at, 1, 3, line=1 + at) for at in range(7)),
        event("alloc", 0, 3, 4, line=8),
        *(event("free_completed", 10 + at, 1, 5) for at in range(7)),
        event("segment_free", 10, 8, 7),
    ]
    mark = {"used_bytes": 20 * mib, "reserved_bytes": 16 * mib, "allocated_bytes": 3 * mib}
    default = standing(0, 0, 3 * mib, active_size=3 * mib)
    graph = standing(10, 1, 0, active_size=0)
    snapshot = {
        "segments": [default],
        "device_traces": [history],
        "phases": [{"name": "record", "time_us": 0}],
        "marks": [
            mark | {"phase": "record", "time_us": 6, "segments": [default, graph]},
            mark | {"phase": "reset", "time_us": 8, "reserved_bytes": 8 * mib} | more,
        ],
    }
    path = tmp_path / "memory.json"
    path.write_text(json.dumps(snapshot))
    return path


def lines_of(text: str, title: str) -> Any:
    """Return the rows of the table with ``title``, each split where columns are apart."""
    lines = [line.strip() for line in text.splitlines()]
    begin = next(at for at in range(lines.index(title), len(lines)) if "───" in lines[at]) + 1
    return [re.split(r"  +", line) for line in lines[begin : lines.index("", begin)]]


def test_what_filled_a_pool_that_is_gone_is_shown_as_parts_of_it(tmp_path: Path) -> None:
    found = json.loads(run(planted(tmp_path), "--json"))
    default, graph = found["filled"]
    assert (default["pool"], graph["pool"]) == ("default", "graph pool (0, 1)")
    for pool in found["filled"]:
        held = sum(row["bytes"] for row in pool["blocks"])
        assert held == pool["allocated_bytes"] == pool["reserved_bytes"] - pool["unused_bytes"]
        assert pool["phase"] == "record"
    assert len(graph["blocks"]) == 7
    text = run(planted(tmp_path))
    shown = lines_of(text, "What filled each pool at its peak")
    assert shown[:3] == [
        ["default", "8.39 MB", "reserved then, in phase record"],
        ["5.24 MB", "of it not in use"],
        ["3.15 MB", "1", "w/model.py:8 f"],
    ]
    assert shown[3] == ["graph pool (0, 1)", "8.39 MB", "reserved then, in phase record"]
    assert shown[4] == ["1.05 MB", "of it not in use"]
    assert shown[5] == ["1.05 MB", "1", "w/model.py:1 f < w/model.py:2 f < …"]
    assert shown[10:] == [["2.10 MB", "2", "2 other stacks"]]
    assert FREED_POOL not in text


def test_each_phase_ends_with_what_its_pools_are(tmp_path: Path) -> None:
    text = run(planted(tmp_path), COLUMNS="120")
    assert lines_of(text, "As each phase ended") == [
        ["record", "20.97 MB", "4.19 MB", "default", "8.39 MB", "3.15 MB", "0 B", "5.24 MB"],
        ["graph pool (0, 1)", "8.39 MB", "0 B", "0 B", "8.39 MB"],
        ["reset", "20.97 MB", "12.58 MB", "–", "8.39 MB", "3.15 MB", "–", "–"],
    ]
    waiting = {"total_size": 9, "allocated_size": 1, "active_size": 3, "requested_size": 1}
    many = [waiting | {"segment_pool_id": [0, pool]} for pool in range(6)]
    text = run(planted(tmp_path, segments=many), COLUMNS="120")
    *_, last, others = lines_of(text, "As each phase ended")
    assert last == ["graph pool (0, 2)", "9 B", "1 B", "–", "6 B", "2 B"]
    assert others == ["3 other pools", "27 B", "3 B", "–", "18 B", "6 B"]


def test_tables_fit_100_columns_and_full_names_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DATA)  # the command to type next names the file as it was given
    capture = Path("nsys/memset_overlap.sqlite.zst")
    for path in (capture, Path("ncu/small.ncu-rep.zst")):
        lines = run(path).splitlines()
        assert max(map(len, lines)) <= 100
        kernels = lines[next(at for at, line in enumerate(lines) if line.startswith(" kernel ")) :]
        assert all(line[-10:].strip() for line in kernels[:4]), "a name was folded"
    whole = run(capture, "--full-names", COLUMNS="400")
    for row in rows("nsys/memset_overlap_cuda_gpu_kern_sum.csv"):
        assert row["Name"] in whole


@pytest.mark.parametrize("name", ["nsys/streams.sqlite.zst", "torch/streams.json.gz"])
def test_a_timeline_fits_80_columns_and_begins_with_what_matters(name: str) -> None:
    text = run(DATA / name, COLUMNS="80")
    assert max(len(line) for line in text.splitlines() if str(DATA) not in line) <= 80
    titles = ("GPU, .+", "Idle time of the GPU", "Host calls", "Copies; .+", "Kernels")
    found = [re.search(rf"^{title} *$", text, re.MULTILINE) for title in ("1[.] .+", *titles)]
    assert all(found)
    places = [each.start() for each in found if each]
    assert text.startswith("machine:")
    assert places == sorted(places)
    assert "NVIDIA H200" in text.splitlines()[0]


def test_the_first_findings_are_those_of_diagnose() -> None:
    capture = DATA / "nsys/streams.sqlite.zst"
    other = typer.Typer()
    other.command()(diagnose)
    found = json.loads(CliRunner().invoke(other, [str(capture), "--json"]).stdout)["findings"]
    document = json.loads(run(capture, "--json"))
    assert [each["id"] for each in document["findings"]] == [each["id"] for each in found]
    numbered = re.findall(r"^(\d)\. ([\w-]+): ", run(capture), re.MULTILINE)
    assert numbered == [(str(at), each["id"]) for at, each in enumerate(found[:3], start=1)]


def test_a_large_timeline_says_what_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    capture = DATA / "nsys/streams.sqlite.zst"
    operations = json.loads(run(capture, "--json"))["gpu"]["operations"]
    for module in (summary, timeline_summary):
        monkeypatch.setattr(module, "LARGE", operations - 1)
    found = json.loads(run(capture, "--json"))
    assert [found[key] for key in ("findings", "idle", "calls", "series")] == [None] * 4
    text = run(capture)
    assert "More than 200,000 GPU operations" in text
    assert f"\n   harness diagnose {capture}\n" in text
    assert "Idle time" not in text
    assert "Kernels" in text


def test_devices_side_by_side_do_not_overlap_and_are_summed_below(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ops = {
        "kind": ["kernel", "kernel", "kernel", "copy", "copy"],
        "name": ["a", "a", "ncclDevKernel_AllReduce", "c", "c"],
        "start_ns": [0, 0, 50, 40, 80],
        "duration_ns": [40, 40, 50, 10, 20],
        "device": [0, 1, 1, 1, 0],
        "copy_kind": [None, None, None, *["Host-to-Device"] * 2],
    }
    fake_reader(monkeypatch, "nsys", gpu_ops=ops)
    text = run(DATA / "nsys/streams.sqlite.zst", COLUMNS="80")
    (title,) = re.findall(r"^GPU, .+?(?= *$)", text, re.MULTILINE)
    assert title == "GPU, % of its span: busy = compute + comm. alone + copies alone"
    rows_of = lines_of(text, title)
    assert [row[2:] for row in rows_of] == [
        ["60.0", "40.0", "0.0", "20.0", "40.0", "0.0"],
        ["100.0", "40.0", "50.0", "10.0", "0.0", "0.0"],
    ]
    (copies,) = lines_of(text, "Copies, summed over devices; alone: while no kernel ran")
    assert copies[:3] == ["Host-to-Device", "unknown", "2"]
    assert "Idle time of the GPU, summed over devices" in text


def test_how_a_capture_was_recorded_stands_above_it() -> None:
    found = json.loads(run(DATA / "nsys/graph_level.sqlite.zst", "--json"))["conditions"]
    text = run(DATA / "nsys/graph_level.sqlite.zst", COLUMNS="300")
    assert "CUDA graphs as a whole" in found["tracing"]
    assert "tracing cost" not in found
    first = text.splitlines()[0]
    assert first.split(": ", 1)[1].strip() == (
        f"{found['GPU']}, driver {found['driver']}, CUDA {found['CUDA']}"
    )
    for name in ("profiler", "tracing", "not read"):
        assert re.search(rf"^{name}: +{re.escape(found[name])}$", text, re.MULTILINE)
    node = run(DATA / "nsys/graph_node.sqlite.zst")
    assert "CUDA graphs by node" in node
    assert "\ntracing cost: " in node


HOSTILE = "\x1b[31m[bold red]k[/] \u202e<script>\x07\n"


@pytest.mark.parametrize("environment", [{}, {"FORCE_COLOR": "1"}])
def test_names_cannot_steer_the_terminal(monkeypatch: pytest.MonkeyPatch, environment: Any) -> None:
    ops = {"kind": ["kernel"], "name": [HOSTILE], "start_ns": [0], "duration_ns": [1000]}
    ranges = {"name": [HOSTILE], "duration_ns": [10]}
    fake_reader(monkeypatch, "nsys", gpu_ops=ops, ranges=ranges)
    text = run(DATA / "nsys/streams.sqlite.zst", "--full-names", **environment)
    assert "[bold red]k[/]" in text
    assert not [steering for steering in ("\x1b[31m", "\u202e", "\x07") if steering in text]
    as_json = run(DATA / "nsys/streams.sqlite.zst", "--json")
    assert json.loads(as_json)["kernels"][0]["name"] == HOSTILE
    assert as_json.isascii()


def test_a_cpu_trace_shows_its_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    operators = {"name": ["aten::mm"], "count": [2], "total_ns": [5_000_000], "device_ns": [None]}
    fake_reader(monkeypatch, "torch", operators=operators)
    found = json.loads(run(DATA / "torch/streams.json.gz", "--json"))
    assert found["kernels"] == []
    assert (found["gpu"]["span_ns"], found["gpu"]["busy_ns"]) == (None, None)
    text = run(DATA / "torch/streams.json.gz")
    assert "No GPU work" in text
    assert "aten::mm" in text
    assert "5.000" in text


def test_an_export_without_gpu_work_needs_ranges_or_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_reader(monkeypatch, "nsys", ranges={"name": ["step"], "duration_ns": [10]})
    text = run(DATA / "nsys/streams.sqlite.zst")
    assert "No GPU work" in text
    assert "step" in text
    fake_reader(monkeypatch, "nsys", api_calls={"name": ["cudaFree"], "duration_ns": [10]})
    assert "No GPU work" in run(DATA / "nsys/streams.sqlite.zst")
    fake_reader(monkeypatch, "nsys")
    with pytest.raises(CaptureError, match=r"no GPU work, no ranges and no CUDA calls in it \("):
        run(DATA / "nsys/streams.sqlite.zst")


def test_what_was_not_measured_is_a_dash_and_null(monkeypatch: pytest.MonkeyPatch) -> None:
    counters = {
        "launch": [0, 0],
        "name": ["k", "k"],
        "metric": ["gpu__time_duration.sum", "sm__throughput.avg.pct_of_peak_sustained_elapsed"],
        "unit": ["us", "%"],
        "value": [2.0, float("nan")],
    }
    fake_reader(monkeypatch, "ncu", counters=counters)
    kernel = json.loads(run(DATA / "ncu/small.ncu-rep.zst", "--json"))["kernels"][0]
    assert (kernel["duration_ns"], kernel["dram_pct"], kernel["sm_pct"]) == (2000.0, None, None)
    line = next(
        line for line in run(DATA / "ncu/small.ncu-rep.zst").splitlines() if line.startswith(" k ")
    )
    assert "2.00" in line
    assert "\N{EN DASH}" in line


def test_many_kernels_are_cut_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    ops = {"kind": ["kernel"] * 40, "name": [f"k{n}" for n in range(40)], "start_ns": range(40)}
    fake_reader(monkeypatch, "nsys", gpu_ops=ops | {"duration_ns": [5] * 40})
    assert "… and 10 more: --json prints all" in run(DATA / "nsys/streams.sqlite.zst")


def test_an_error_names_the_users_file_and_not_an_unpacked_copy(tmp_path: Path) -> None:
    database = tmp_path / "other.sqlite"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE t (a)")
    connection.close()
    packed = tmp_path / "other.gz"
    packed.write_bytes(gzip.compress(database.read_bytes()))
    for path in (database, packed):
        with pytest.raises(CaptureError) as error:
            run(path)
        assert error.value.where == str(path)
        assert "\n" not in str(error.value)
