"""The metrics of a load, held against what is counted here from the driver's own lists."""

from itertools import pairwise
from pathlib import Path
from statistics import quantiles

import polars as pl
import pytest

from harness.analysis import serving, summary
from harness.analysis.derived import MEASURES
from harness.analysis.metrics import Metrics
from harness.captures.load.kind import KIND
from harness.evidence.capture import Capture
from harness.evidence.tables import Tables, empty
from harness.probe.load.driver import Life, Recording, Slo, drive
from harness.probe.load.workload import at_once, fixed, poisson, requests
from harness.problem import manifest
from tests.support import small_evidence
from tests.support.manifests import GOOD, written
from tests.support.serving import OneByOne, Virtual, sample, tables
from tests.support.small_evidence import cell

MS = 1_000_000
SLO = Slo(60, 35)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return sample()


@pytest.fixture(scope="module")
def read(recording: Recording, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    return tables(recording, tmp_path_factory.mktemp("load"), SLO)


def counted(recording: Recording) -> list[Life]:
    """Return the requests after warm-up, of which there are some."""
    lives = list(recording.lives.values())
    assert 0 < recording.warm_up() < len(lives)
    return lives[recording.warm_up() :]


def at_percent(values: list[int], percent: int) -> float:
    return quantiles(values, n=100, method="inclusive")[percent - 1] / MS


def test_quantiles_are_those_of_the_tokens(recording: Recording, read: Tables) -> None:
    lives = counted(recording)
    first = [life.tokens[0] - life.request.due_ns for life in lives]
    gaps = [after - before for life in lives for before, after in pairwise(life.tokens)]
    whole = [life.ended - life.request.due_ns for life in lives if life.ended is not None]
    for name, values in {"ttft": first, "itl": gaps, "e2e": whole}.items():
        for percent in (50, 99):
            expected = pytest.approx(at_percent(values, percent))
            assert MEASURES[f"{name}_p{percent}_ms"](read) == expected
    assert MEASURES["itl_max_ms"](read) == max(gaps) / MS


def test_rates_are_tokens_over_the_time_of_the_load(recording: Recording, read: Tables) -> None:
    lives = counted(recording)
    seconds = (recording.end_ns - lives[0].request.due_ns) / 1e9
    output = sum(len(life.tokens) for life in lives)
    total = output + sum(len(life.request.prompt) for life in lives)
    assert serving.output_tokens_per_s(read) == pytest.approx(output / seconds)
    assert serving.total_tokens_per_s(read) == pytest.approx(total / seconds)
    met = sum(life.meets(SLO) for life in lives)
    assert 0 < met < len(lives)
    assert serving.slo_attainment(read) == pytest.approx(100 * recording.attained(SLO))
    assert serving.goodput(read) == pytest.approx(met / seconds)
    blocks = max(step["kv_blocks"] for step in recording.steps)
    assert serving.kv_use_max(read) == pytest.approx(100 * blocks / 64)


def test_a_queue_is_as_long_as_its_waits_are_by_littles_law(tmp_path: Path) -> None:
    clock = Virtual()
    load = requests(500, poisson(8), (fixed(1), fixed(1)), 2)
    recording = drive(OneByOne(clock, lambda _: 100 * MS), load, clock)
    lives = list(recording.lives.values())
    waits = [life.admitted - life.request.due_ns for life in lives if life.admitted is not None]
    span = recording.end_ns - lives[0].request.due_ns
    read = tables(recording, tmp_path)
    assert serving.queue_mean(read) == pytest.approx(sum(waits) / span)
    due_at = [life.request.due_ns for life in lives]
    begun = [life.admitted for life in lives if life.admitted is not None]
    most = max(sum(a <= t for a in due_at) - sum(b <= t for b in begun) for t in due_at)
    assert serving.queue_max(read) == most


def test_what_never_came_is_longer_than_all_that_did(tmp_path: Path) -> None:
    clock = Virtual()
    load = requests(10, at_once(), (fixed(1), fixed(1)), 0)
    recording = drive(OneByOne(clock, lambda _: 100 * MS), load, clock, limit_s=0.75)
    read = tables(recording, tmp_path)  # 8 of 10 ended
    assert MEASURES["ttft_p50_ms"](read) == pytest.approx(550)
    assert MEASURES["ttft_p99_ms"](read) is None
    assert MEASURES["itl_p50_ms"](read) is None
    assert serving.slo_attainment(read) is None  # no bounds were set
    assert serving.goodput(read) is None


def test_warm_up_is_left_out(read: Tables) -> None:
    warm = pl.when(pl.col("request") < 30).then(pl.lit("warm-up")).otherwise(pl.lit(""))
    requests_after = read["load_requests"].with_columns(mark=warm)
    marked = read | {"load_requests": requests_after}
    first = requests_after.filter(pl.col("request") >= 30)
    waited = (first["first_ns"] - first["due_ns"]).to_list()
    assert MEASURES["ttft_p50_ms"](marked) == pytest.approx(at_percent(waited, 50))
    assert serving.lives(marked).height == 10


def test_nothing_recorded_is_not_measured() -> None:
    nothing = {name: empty(name) for name in KIND.fills}
    assert {name: MEASURES[name](nothing) for name in KIND.measures} == dict.fromkeys(KIND.measures)
    assert set(KIND.measures) == set(serving.MEASURES)


def test_states_fill_a_request_from_due_to_end(recording: Recording, read: Tables) -> None:
    life = next(life for life in counted(recording) if life.preempted)
    number = list(recording.lives).index(life.request.name)
    spans = serving.states(read, 60).filter(pl.col("request") == number)
    whole = spans.filter(pl.col("state") != "preempted").sort("start_ns")
    assert whole["start_ns"].to_list()[1:] == whole["end_ns"].to_list()[:-1]
    assert (whole["start_ns"][0], whole["end_ns"][-1]) == (life.request.due_ns, life.ended)
    assert whole["state"].to_list()[-2:] == ["prefill", "decode"]
    assert spans.filter(pl.col("state") == "preempted").height == len(life.preempted)
    unsaid = read["load_requests"].with_columns(admitted_ns=pl.lit(None, dtype=pl.Int64))
    states = serving.states(read | {"load_requests": unsaid}, 5)
    assert set(states["state"]) - {"preempted"} == {serving.UNTOLD, "decode"}


def test_a_request_stalls_where_tokens_lie_five_medians_apart(read: Tables) -> None:
    one, other = serving.lives(read)["request"].to_list()[:2]
    times = {one: (0, 10, 20, 70, 80), other: (5, 15, 64)}  # the second waits 49, one less
    tokens = [(request, time) for request, each in times.items() for time in each]
    schema = read["load_tokens"].select("request", "time_ns").schema
    frame = pl.DataFrame(tokens, schema, orient="row")
    planted = read | {"load_tokens": frame}
    assert serving.stalls(planted, 60).rows() == [(one, serving.STALLED, 20, 70)]
    assert serving.stalls(read | {"load_tokens": frame.clear()}, 60).is_empty()


def test_a_manifest_asks_for_a_load_by_the_name_of_a_measure(
    tmp_path: Path, recording: Recording, read: Tables
) -> None:
    asked = GOOD.replace("  timing: {}", "  load: {}\n  timing: {}").replace(
        "claims:",
        "  between: {label: p99, unit: ms, capture: load, measure: itl_p99_ms}\n"
        "  waiting: {label: queue, unit: requests, capture: load, measure: queue_mean}\nclaims:",
    )
    problem = manifest.load(written(tmp_path, asked))
    cells = [cell("fast", number, "load") for number in range(3)]
    evidence = small_evidence.tables(cells=cells)
    for name, rows in read.items():
        of_rounds = [rows.with_columns(cell=pl.lit(each["cell"])) for each in cells]
        evidence[name] = pl.concat(of_rounds).select(evidence[name].columns)
    measured = Metrics(problem, evidence).get("between", "fast", "small")
    assert measured.value == MEASURES["itl_p99_ms"](read)
    assert (measured.rounds, measured.timed) == (3, True)
    assert Metrics(problem, evidence).get("waiting", "fast", "small").timed
    joined = summary.by_kind(Capture("a cell", evidence, {}, "load"))
    assert joined["metrics"]["itl_p99_ms"] == measured.value  # of the first round
    assert joined["requests"]["sent"] == len(recording.lives)
