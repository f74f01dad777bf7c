"""A GPU's ceilings: what is made of the rounds, for how long it is kept, and why there are none."""

import json
import math
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from harness.engines import choose
from harness.engines.engine import Command, Node
from harness.engines.options import Options
from harness.evidence.provenance import Ceilings, RunArguments
from harness.ground import files
from harness.ground.errors import ToolError
from harness.machine.host import Host
from harness.machine.monitor import GpuSample
from harness.machine.target import Target
from harness.problem.model import Problem
from harness.problem.plan import Cell
from harness.run import calibrate
from harness.run.execute import Execution
from harness.run.provenance import note_resumed, origin_of
from harness.store.run_folder import Run
from tests.support.bench import Scripts, Watched

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own")

Samples = dict[str, list[tuple[float, str]]]
"""Value and mark of each sample, by metric."""


class Played(Scripts):
    """An engine whose cells leave what a calibration's would, by round; one not given fails."""

    def __init__(self, node: Node, *rounds: Samples | None) -> None:
        super().__init__({}, node)
        self._rounds = rounds

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        self.ran.append(cell.id)
        metrics = self._rounds[cell.round]
        if metrics is None:
            return Command(["bash", "-c", f"echo no luck in {cell.round} >&2; exit 1"], {}, out)
        samples = [
            {
                "region": "ceilings",
                "metric": metric,
                "unit": "",
                "index": index,
                "value": value,
                "mark": mark,
            }
            for metric, values in metrics.items()
            for index, (value, mark) in enumerate(values)
        ]
        left = json.dumps({"samples": samples, "facts": [], "declared": {}, "packages": {}})
        return Command(["bash", "-c", 'echo "$LEFT" > workload.json'], {"LEFT": left}, out)


def settled(*values: float) -> list[tuple[float, str]]:
    return [(value, "") for value in values]


STEADY: Samples = {"dram_read": settled(4000.0, 4100.0, 4200.0)}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where ceilings are kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def node(target: Target, samples: list[GpuSample] | None = None) -> Watched:
    """A machine whose GPU gives the same samples to each of up to nine attempts."""
    return Watched(target, [samples or []] * 9)


def measured(target: Target, *rounds: Samples | None) -> Ceilings:
    return calibrate.measure(Played(node(target), *rounds), lambda *_: None)


def only_file(cache: Path) -> Path:
    (path,) = (path for path in cache.rglob("*") if path.is_file())
    return path


def other_driver(target: Target) -> Target:
    assert target.gpu
    return replace(target, gpu=replace(target.gpu, driver="590.2"))


def test_a_ceiling_is_the_geometric_mean_of_the_rounds_medians(with_gpu: Target) -> None:
    warm, far = (9000.0, "warm-up"), (9999.0, "outlier")
    ceilings = measured(
        with_gpu,
        {"dram_read": [warm, warm, warm, *settled(100.0, 102.0, 110.0)], "fp8": settled(7.0)},
        {"dram_read": [warm, *settled(103.0, 105.0), far], "fp8": [warm]},
        {"dram_read": [(1.0, "warm-up"), *settled(108.0)], "fp8": settled(9.0)},
    )
    rate = ceilings.rates["dram_read"]
    # Medians 102, 105 (what lies far off is kept) and 108.
    assert rate.value == pytest.approx(math.cbrt(102 * 105 * 108))
    assert (rate.unit, rate.rounds) == ("GB/s", 3)
    assert (rate.low or 0) < 102
    assert (rate.high or 0) > 108
    # A round in which nothing settled is no round; what was never sampled is no ceiling.
    assert ceilings.rates["fp8"].value == pytest.approx(math.sqrt(7 * 9))
    assert ceilings.rates["fp8"].rounds == 2
    assert set(ceilings.rates) == {"dram_read", "fp8"}


def test_rounds_that_fail_leave_the_others(with_gpu: Target) -> None:
    ceilings = measured(with_gpu, None, STEADY, {"dram_read": settled(4300.0)})
    read = ceilings.rates["dram_read"]
    assert read.value == pytest.approx(math.sqrt(4100 * 4300))
    assert read.rounds == 2


def test_a_doubt_of_several_rounds_is_listed_once(with_gpu: Target) -> None:
    capped = node(with_gpu, [GpuSample(0.0, {}, ("power cap",), ())])
    ceilings = calibrate.measure(Played(capped, STEADY, STEADY, STEADY), lambda *_: None)
    assert ceilings.doubts == ("power cap in 1 of 1 looks",)


def test_ceilings_are_kept_by_gpu_and_driver(cache: Path, with_gpu: Target) -> None:
    assert calibrate.kept(with_gpu) is None
    ceilings = measured(with_gpu, STEADY, STEADY, STEADY)
    assert (ceilings.gpu, ceilings.name, ceilings.driver) == ("GPU-1234", "NVIDIA H200", "580.1")
    assert calibrate.kept(with_gpu) == ceilings
    assert only_file(cache).name == "GPU-1234-580.1.json"
    assert calibrate.kept(other_driver(with_gpu)) is None
    assert with_gpu.gpu
    another = replace(with_gpu, gpu=replace(with_gpu.gpu, uuid="GPU-5678"))
    assert calibrate.kept(another) is None


@pytest.mark.parametrize("unset", [True, False])
def test_without_a_cache_folder_they_are_kept_under_home(
    tmp_path: Path, with_gpu: Target, monkeypatch: pytest.MonkeyPatch, unset: bool
) -> None:
    if unset:
        monkeypatch.delenv("XDG_CACHE_HOME")
    else:
        monkeypatch.setenv("XDG_CACHE_HOME", "")  # which XDG says is as good as unset
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    ceilings = measured(with_gpu, STEADY, STEADY, STEADY)
    assert only_file(tmp_path / "home" / ".cache" / "profiling-worklogs")
    assert calibrate.kept(with_gpu) == ceilings


@pytest.mark.parametrize(
    ("age", "fresh"),
    [
        (timedelta(hours=23, minutes=50), True),
        (timedelta(hours=24, minutes=10), False),
        (timedelta(minutes=-10), False),  # of a clock that was set back since
    ],
)
def test_ceilings_last_a_day(cache: Path, with_gpu: Target, age: timedelta, fresh: bool) -> None:
    measured(with_gpu, STEADY, STEADY, STEADY)
    then = (datetime.now(UTC) - age).isoformat(timespec="seconds")
    known = files.read_json(only_file(cache))
    files.write_json(only_file(cache), known | {"measured": then})
    assert (calibrate.kept(with_gpu) is not None) == fresh


@pytest.mark.parametrize(
    "changed",
    [
        lambda text: text.replace('"version": 1,', '"version": 0,'),
        lambda text: text.replace('"version": 1,', ""),
        lambda text: text[: len(text) // 2],
        lambda text: f"[{text}]",
        lambda _text: "",
    ],
)
def test_a_file_of_another_version_or_a_broken_one_is_as_none(
    cache: Path, with_gpu: Target, changed: Callable[[str], str]
) -> None:
    measured(with_gpu, STEADY, STEADY, STEADY)
    path = only_file(cache)
    text = path.read_text(encoding="utf-8")
    assert changed(text) != text
    path.write_text(changed(text), encoding="utf-8")
    assert calibrate.kept(with_gpu) is None


def test_without_a_round_there_are_no_ceilings_and_nothing_is_kept(
    cache: Path, with_gpu: Target
) -> None:
    with pytest.raises(ToolError, match=r"could not measure the ceilings \(no luck in 0\)"):
        measured(with_gpu, None, None, None)
    assert not cache.exists()


class Ready:
    """In place of ``choose.ready``: gives an engine, or says why it cannot."""

    def __init__(self, engine: Played | ToolError) -> None:
        self.engine = engine
        self.asked: list[Any] = []

    def __call__(
        self,
        wanted: str,
        problem: Problem,
        node: Node,
        options: Options,
        environments: list[str],
        notify: object,
    ) -> tuple[str, Played]:
        self.asked.append((wanted, problem.folder.name, environments))
        if isinstance(self.engine, ToolError):
            raise self.engine
        return wanted, self.engine


def at_hand(
    target: Target, ready: Ready, monkeypatch: pytest.MonkeyPatch
) -> tuple[Ceilings | None, list[str]]:
    monkeypatch.setattr(choose, "ready", ready)
    messages: list[str] = []
    return calibrate.at_hand(Host(target), "podman", Options(), messages.append), messages


def test_a_run_measures_the_ceilings_once_a_day(
    with_gpu: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = Ready(Played(node(with_gpu), STEADY, STEADY, STEADY))
    ceilings, messages = at_hand(with_gpu, ready, monkeypatch)
    assert ceilings
    assert ceilings.rates["dram_read"].value == 4100.0
    assert messages == ["measuring this GPU's ceilings, once a day"]
    assert at_hand(with_gpu, ready, monkeypatch) == (ceilings, [])
    assert ready.asked == [("podman", "0-ceilings", ["plain"])]
    at_hand(other_driver(with_gpu), ready, monkeypatch)
    assert len(ready.asked) == 2


def test_without_a_gpu_no_engine_is_asked(
    with_gpu: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    ready = Ready(Played(node(with_gpu), STEADY, STEADY, STEADY))
    assert at_hand(replace(with_gpu, gpu=None), ready, monkeypatch) == (None, [])
    assert ready.asked == []


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (ToolError("no answer", where="podman"), "podman: no answer"),
        (None, "could not measure the ceilings (no luck in 0)"),
    ],
)
def test_a_run_goes_on_without_ceilings_and_tells_why(
    with_gpu: Target, monkeypatch: pytest.MonkeyPatch, error: ToolError | None, why: str
) -> None:
    ceilings, messages = at_hand(
        with_gpu, Ready(error or Played(node(with_gpu), None, None, None)), monkeypatch
    )
    assert ceilings is None
    assert messages[-1].startswith("ceilings not measured: ")
    assert messages[-1].endswith(why)


@pytest.mark.parametrize("spoil", ["no rates", "no time", "a time without a zone"])
def test_a_file_that_lacks_something_is_as_none(cache: Path, with_gpu: Target, spoil: str) -> None:
    measured(with_gpu, STEADY, STEADY, STEADY)
    path = only_file(cache)
    known = json.loads(path.read_text())
    if spoil == "no rates":
        del known["rates"]
    else:
        known["measured"] = "soon" if spoil == "no time" else "2026-01-01T00:00:00"
    path.write_text(json.dumps(known))
    assert calibrate.kept(with_gpu) is None


def test_a_run_of_the_study_notes_and_keeps_what_it_measured(
    tmp_path: Path, with_gpu: Target
) -> None:
    engine = Played(node(with_gpu), STEADY, STEADY, STEADY)
    study = calibrate.problem()
    assert calibrate.measured_by(study)
    run = Run.create(tmp_path / "runs", "0-ceilings", origin_of(study, engine, RunArguments()))
    Execution(engine, run, lambda *_: None).execute(calibrate.cells(with_gpu))
    calibrate.note(run, with_gpu)
    assert run.provenance.ceilings == calibrate.kept(with_gpu)
    assert run.provenance.ceilings
    note_resumed(run, origin_of(study, engine, RunArguments()))
    calibrate.note(run, with_gpu)
    assert [origin.ceilings is not None for origin in run.provenance.origins] == [True, True]


def test_a_run_of_the_study_that_failed_notes_nothing(tmp_path: Path, with_gpu: Target) -> None:
    engine = Played(node(with_gpu), None, None, None)
    origin = origin_of(calibrate.problem(), engine, RunArguments())
    run = Run.create(tmp_path / "runs", "0-ceilings", origin)
    Execution(engine, run, lambda *_: None).execute(calibrate.cells(with_gpu))
    calibrate.note(run, with_gpu)
    assert run.provenance.ceilings is None


def test_what_cannot_be_kept_was_measured_all_the_same(cache: Path, with_gpu: Target) -> None:
    cache.write_text("a file where the folder has to be")
    assert measured(with_gpu, STEADY, STEADY, STEADY).rates["dram_read"].value == 4100.0


def test_processes_that_leave_no_samples_are_no_ceilings(cache: Path, with_gpu: Target) -> None:
    with pytest.raises(ToolError, match="left no samples"):
        measured(with_gpu, {}, {}, {})
    assert not cache.exists()
