"""The registry: every function that a kind names exists, and data alone is loaded to know it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from harness.analysis.derived import MEASURES
from harness.captures import sniff
from harness.evidence.kind import Kind
from harness.evidence.kinds import KINDS, by_cost, filling, profiled, tools, unprofiled
from harness.evidence.tables import SCHEMAS
from tests.support.paths import DATA, ROOT

HARNESS = ROOT / "harness"
FILES_OF_THE_HARNESS = sorted(path.relative_to(HARNESS) for path in HARNESS.rglob("*.py"))
FILES = {
    "torch": "torch/graph.json.gz",
    "nsys": "nsys/streams.sqlite.zst",
    "ncu": "ncu/small.ncu-rep.zst",
    "memory": "memory/graph.pickle.zst",
    "load": "load/poisson.json.gz",
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_a_kind_lies_in_the_folder_of_its_name(kind: Kind) -> None:
    folder = ROOT / "harness/captures" / kind.name
    assert type(kind).__module__ == f"harness.captures.{kind.name}.kind"
    assert (folder / "kind.py").is_file()


@pytest.mark.parametrize(("name", "file"), FILES.items())
def test_a_reader_fills_the_tables_that_its_kind_declares(name: str, file: str) -> None:
    kind = KINDS[name]
    with sniff.opened(DATA / file) as plain:
        assert set(kind.read(plain)) == set(kind.fills)


def test_what_kinds_declare_is_what_the_others_know() -> None:
    for kind in KINDS.values():
        assert set(kind.fills) <= SCHEMAS.keys()
        assert kind.compared_by in {*kind.fills, "samples"}
        assert set(kind.measures) <= MEASURES.keys()
        assert kind.artifact is None or kind.artifact in kind.leaves
        assert {kept.name for kept in kind.kept} <= set(kind.leaves)
    assert len({kind.cost for kind in KINDS.values()}) == len(KINDS)


def test_a_flag_of_the_manifest_replaces_the_default_of_its_option() -> None:
    wrapped = KINDS["nsys"].wrap(
        ["python3", "repro.py"], Path("/out"), ("--cuda-graph-trace=graph",)
    )
    assert [flag for flag in wrapped if flag.startswith("--cuda-graph-trace")] == [
        "--cuda-graph-trace=graph"
    ]
    assert wrapped[:2] == ["nsys", "profile"]
    assert wrapped[-2:] == ["python3", "repro.py"]
    assert "--trace=cuda,nvtx,cublas" in wrapped


def test_kinds_are_found_by_role() -> None:
    assert by_cost()[0].name == unprofiled() == "timing"
    assert profiled() == ("torch", "nsys", "ncu", "memory")
    assert filling("gpu_ops") == ("nsys", "torch")
    assert filling("counters") == ("ncu",)
    assert filling("samples") == ()
    assert tools() == ("nsys", "ncu")


def test_the_registry_loads_names_and_no_code() -> None:
    code = (
        "import sys, harness.evidence.kinds\n"
        "files = {name for name in sys.modules if name.startswith('harness.captures.')}\n"
        "print(*sorted(name for name in files if name.count('.') > 2))\n"
        "print(*{'polars', 'pydantic', 'harness.analysis'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True
    )
    kinds = sorted(f"harness.captures.{name}.kind" for name in KINDS)
    assert done.stdout == f"{' '.join(kinds)}\n\n", done.stderr


def spelled(path: Path) -> set[str]:
    """Return the string constants of a file that are a kind's name, but for docstrings."""
    constants = {
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    return constants & KINDS.keys()


OTHER_WORDS = {
    "analysis/floors.py": {"memory"},  # what limits a kernel
    "analysis/program.py": {"nsys", "ncu"},  # tools that advice names
    "analysis/copies.py": {"memory"},  # what a copy reads or writes
    "analysis/idle/causes.py": {"memory"},  # the same
    "analysis/idle/host_calls.py": {"load"},  # of a module
    "captures/torch/metadata.py": {"memory"},  # what torch.profiler was asked to record
    "cli/shown/timeline.py": {"memory"},  # what a copy reads or writes
    "probe/hooks/__init__.py": {"timing", "torch", "memory"},  # the hooks' own names
    "analysis/roofline.py": {"memory"},  # what limits a kernel
    "probe/load/driver.py": {"load"},  # the file's first key, by which it is recognised
    "probe/profiler_range.py": {"torch"},  # the package
    "report/sections/claims.py": {"torch"},  # the package
    "view/panel.py": {"memory"},  # the part of the page that draws the allocator
    "view/roofline_plot.py": {"memory"},  # the limit of a kernel
}
"""Files in which a kind's name is a word for something else."""
LEVEL = {"memory"}  # in the diagnosis, a level of the stack and the findings on it


def test_a_kind_is_spelled_in_its_own_folder_and_the_registry_alone() -> None:
    others = {}
    for path in FILES_OF_THE_HARNESS:
        inside = {name for name in KINDS if path.is_relative_to(Path("captures") / name)}
        if path.is_relative_to("analysis/diagnose"):
            inside = LEVEL
        if path != Path("evidence/kinds.py") and (words := spelled(HARNESS / path) - inside):
            others[str(path)] = words
    assert others == OTHER_WORDS
