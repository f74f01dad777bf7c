"""A new kind is one folder and one line: from its plan over its records to the rendered page."""

import os
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner

from harness.analysis.diff import cells as comparison
from harness.captures import sniff
from harness.cli.app import app
from harness.engines.engine import Command
from harness.evidence.kinds import KINDS
from harness.evidence.tables import Tables
from harness.extract import door
from harness.ground.errors import ManifestError
from harness.problem import manifest
from harness.problem.plan import Cell, Selected, plan
from harness.report import publish
from tests.support.bench import Bench, Scripts
from tests.support.manifests import GOOD, written
from tests.support.toy_kind.kind import EXPORT, KIND, PROGRAM

pytestmark = pytest.mark.usefixtures("a_lock_of_our_own", "toyprof")

MANIFEST = GOOD.replace("  timing: {}", "  toy: {}\n  timing: {}").replace(
    "claims:",
    """\
  kernels: {label: time of kernels, unit: ms, capture: toy, measure: kernel_time}
  longest: {label: longest kernel, unit: ns, capture: toy, counter: gpu__time_duration.sum}
claims:
  - id: fewer
    statement: Fast has shorter kernels.
    metric: kernels
    of: {variant: fast, case: small}
    over: {variant: slow}
    bound: {below: 1}""",
)
PAGE = """\
Kernels: {{ w.m("kernels", "slow", "small") }} and {{ w.m("kernels", "fast", "small") }}.
The longest: {{ w.m("longest", "fast", "small") }}.
{{ w.claims() }}
{{ w.counters("fast", "small") }}
{{ w.overhead("small") }}
{{ w.conditions() }}
"""


@pytest.fixture
def toyprof(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry's line, and the profiler's program on PATH."""
    monkeypatch.setitem(KINDS, KIND.name, KIND)
    program = tmp_path / "bin" / "toyprof"
    program.parent.mkdir()
    program.write_text(PROGRAM)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")


class Wrapping(Scripts):
    """Scripts that run under the cell's profiler, as the engines' workloads do."""

    def command(self, cell: Cell, out: Path, scratch: Path) -> Command:
        command = super().command(cell, out, scratch)
        argv = KINDS[cell.capture].wrap(command.argv, out, cell.flags)
        return Command(argv, command.env, command.cwd, command.name)

    def afterwards(self, cell: Cell, out: Path) -> list[Command]:
        return [Command(argv, {}, out) for argv in KINDS[cell.capture].after(out)]


def workload(*launches: str) -> str:
    """Return a script with these launches; its step takes 2 ms, under toyprof 3 ms."""
    lines = "; ".join(f"echo {launch}" for launch in launches)
    sample = '{"region": "r", "metric": "%s", "unit": "ms", "index": 0, "value": \'$ms\'}'
    samples = ", ".join(sample % metric for metric in ("latency", "wall_time"))
    return f"""
ms=2; if [ -n "$TOY_LAUNCHES" ]; then ms=3; ({lines}) > "$TOY_LAUNCHES"; fi
echo '{{"samples": [{samples}], "facts": [], "declared": {{}}, "packages": {{}}}}' \
> "$OUT/workload.json"
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A run of two variants, each timed and recorded with toyprof."""
    toy_bench = Bench(tmp_path, slow="", fast="")
    toy_bench.problem = manifest.load(written(tmp_path, MANIFEST))
    toy_bench.cells = plan(toy_bench.problem, Selected(rounds=1), "cpu")
    scripts = {"slow": workload("copy 900", "gemm 5000"), "fast": workload("gemm 4000")}
    toy_bench.engine = Wrapping(scripts, toy_bench.engine.node)
    return toy_bench


def test_its_cells_are_planned_after_the_unprofiled_and_once(bench: Bench) -> None:
    order = [(cell.capture, cell.variant) for cell in plan(bench.problem, Selected(), "cpu")]
    assert order[10:] == [("toy", "slow"), ("toy", "fast")]
    assert {capture for capture, _ in order[:10]} == {"timing"}


def test_it_is_recorded_read_measured_and_compared(bench: Bench, tmp_path: Path) -> None:
    assert bench.execute() == {"slow": "ok", "fast": "ok"}
    folder = door.run(bench.run, tmp_path / "evidence")
    counters = folder.tables["counters"]
    assert counters["cell"].unique().sort().to_list() == ["small.fast.toy.r0", "small.slow.toy.r0"]
    assert sorted(counters["value"]) == [900.0, 4000.0, 5000.0]
    sides: list[Tables] = [
        folder.subject("small", name).captures["toy"].tables for name in ("slow", "fast")
    ]
    diff = comparison.compare(
        {"toy": (sides[0], sides[1])}, {"toy": ({"a": "1"}, {"a": "2"})}, paired=True
    )
    assert [asdict(condition)["kind"] for condition in diff.differing] == ["toy"]
    times = {(kernel.a, kernel.b): kernel.time_ns for kernel in diff.counters}
    assert times[("gemm",), ("gemm",)] == (5000.0, 4000.0)


def test_it_is_on_the_page_and_in_the_conditions(bench: Bench, tmp_path: Path) -> None:
    bench.execute()
    run = bench.run.provenance
    on_gpu = run.target.model_copy(update={"device": "cuda"})  # on a CPU the page is the short one
    bench.run.note(run.model_copy(update={"target": on_gpu}))
    (bench.problem.folder / "worklog.md.j2").write_text(PAGE)
    report = publish.publish(bench.problem, bench.run, tmp_path / "reports", tmp_path / "store")
    text = (report.folder / "README.md").read_text()
    assert "Kernels: 5.9 µs and 4 µs." in text
    assert "The longest: 4000 ns." in text
    assert "Fast has shorter kernels." in text
    assert "gemm" in text
    head, _, row = text[text.index("| variant") :].splitlines()[:3]
    columns = dict(zip(head.split("|"), row.split("|"), strict=True))
    assert columns[" toy "].strip() == "1.5×"
    assert "| toyprof | 2025.1 |" in text
    kept = [path.name for path in (report.folder / "captures").iterdir()]
    assert f"small.fast.{EXPORT}.zst" in kept


def test_a_capture_with_fewer_launches_than_counted_is_unusable(
    bench: Bench, tmp_path: Path
) -> None:
    bench.engine.scripts["slow"] += "echo 'toyprof: 3 launches'\n"
    bench.execute()
    cells = door.run(bench.run, tmp_path / "evidence").tables["cells"]
    status = dict(cells.filter(cells["capture"] == "toy").select("variant", "status").iter_rows())
    assert status == {"slow": "unusable", "fast": "ok"}


def test_its_file_is_recognised_inspected_and_says_its_conditions(tmp_path: Path) -> None:
    path = tmp_path / "some.file"
    path.write_text("TOY1\ngemm 5000\n")
    assert sniff.recognised(path)[0] is KIND
    assert door.capture(path).captures["toy"].conditions == {"toyprof format": "1"}
    result = CliRunner().invoke(app, ["inspect", str(path)])
    assert result.stdout.startswith(
        "toyprof format: 1\n\n1 launch profiled\n\nProfiled kernels: launches"
    )
    assert "5.00" in result.stdout


def test_without_its_line_it_is_no_kind(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(KINDS, KIND.name)
    with pytest.raises(ManifestError, match=r"captures\.toy.*there are: timing, torch, nsys"):
        manifest.load(bench.problem.folder)
