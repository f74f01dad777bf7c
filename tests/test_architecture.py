"""The house's rules that a machine can hold: who may import whom, and what is never done."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.support.imports import (
    FILES,
    HARNESS,
    Graph,
    graph,
    imported_names,
    module_name,
    reached,
    room,
)

LEFT = {"machine", "probe", "engines", "run"}
"""Rooms that need the GPU's host, left of the captures."""
ROOTS = {"", "__main__"}

FORBIDDEN = {
    "ground": {"problem", "evidence"} | LEFT | {"captures", "store", "extract", "analysis", "cli"},
    "problem": LEFT | {"captures", "store", "extract", "analysis", "report", "cli"},
    "machine": {"run", "engines", "captures", "extract", "analysis", "report", "cli"},
    "engines": {"run", "extract", "analysis", "report", "cli"},
    "run": {"extract", "report", "cli"},
    "captures": LEFT | {"store", "extract", "analysis", "report", "cli"},
    "store": LEFT | {"captures", "extract", "analysis", "report", "cli"},
    "evidence": LEFT | {"captures", "store", "extract", "analysis", "report", "cli"},
    "extract": LEFT | {"analysis", "report", "cli"},
    "analysis": LEFT | {"captures", "store", "extract", "report", "cli"},
    "report": LEFT | {"captures", "extract", "cli"},
    "view": LEFT | {"captures", "cli"},
    "contribute": LEFT | {"lint", "view", "cli"},
    "lint": LEFT | {"report", "view", "cli"},
    "site": LEFT | {"captures", "extract", "cli"},
    "mcp": LEFT | {"captures", "store", "extract", "analysis", "report", "cli"},
}
"""A room to the rooms that it must not import, at any distance."""

PERMITTED = {
    # Publishing is what follows a run: it extracts, keeps captures, then renders.
    ("harness.report.publish", "harness.extract.*"),
    # Constants that both ends of a capture agree on.
    ("harness.captures.nsys.names", "harness.probe.names"),
}
"""Imports (file, file) that are right although their rooms are apart."""

SHARED_BY_COMMANDS = {
    *(
        "account",
        "bisected",
        "cluster",
        "completion",
        "engine_options",
        "explained",
        "graph_captures",
        "judgement",
        "layout",
        "opening",
        "output",
        "outputs",
        "planned",
    ),
    *("problem_argument", "progress", "renamed", "resolve", "results", "tested", "waiting"),
    *(f"shown.{name}" for name in ("counters", "head", "memory", "samples", "serving", "timeline")),
}


def permitted(source: str, target: str) -> bool:
    return any(
        fnmatchcase(source, importer) and fnmatchcase(target, imported)
        for importer, imported in PERMITTED
    )


def without_permitted() -> Graph:
    return {
        source: frozenset(target for target in targets if not permitted(source, target))
        for source, targets in graph().items()
    }


def test_a_room_does_not_reach_the_rooms_it_must_not() -> None:
    imports = without_permitted()
    wrong = [
        " → ".join(way)
        for module in imports
        for target, way in reached(imports, module).items()
        if room(target) in FORBIDDEN.get(room(module), set())
    ]
    assert wrong == []


def called(path: Path) -> set[str]:
    """Return what a file calls, as it is written there."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {ast.unparse(node.func) for node in nodes if isinstance(node, ast.Call)}


def test_analysis_opens_no_file() -> None:
    opening = {"open", "read", "read_brief", "read_bytes", "read_text", "load", "read_parquet"}
    wrong = [
        (path.name, call)
        for path in sorted((HARNESS / "analysis").rglob("*.py"))
        for call in called(path)
        if call.rpartition(".")[2] in opening and path.stem != "datasheets"  # has data beside it
    ]
    assert wrong == []


def test_no_test_imports_another_test() -> None:
    wrong = [
        (path.name, name)
        for path in sorted((HARNESS.parent / "tests").rglob("*.py"))
        for name in imported_names(path)
        if name.startswith("tests.") and not name.startswith("tests.support.")
    ]
    assert wrong == []


def test_modules_are_imported_by_name_in_the_registry_of_kinds_alone() -> None:
    """No string of the house names a module.

    References carry a function to another process, and a study's own sections are not the house's.
    """
    by_name = {
        module_name(path).removeprefix("harness.")
        for path in FILES
        if "importlib.import_module" in called(path)
    }
    assert by_name == {"evidence.kinds", "ground.references", "report.own_sections"}
    named = {
        (module_name(path).removeprefix("harness."), text)
        for path in FILES
        for text in strings(path)
        if text.partition(":")[0] in graph().keys() - {"harness"}
    }
    assert named == {("probe.names", "harness.run.by_hand")}  # the probe imports nothing else


def strings(path: Path) -> Iterator[str]:
    """Yield the string constants of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize(("importer", "imported"), sorted(PERMITTED))
def test_what_is_permitted_is_needed(importer: str, imported: str) -> None:
    used = [
        (source, target)
        for source, targets in graph().items()
        for target in targets
        if fnmatchcase(source, importer) and fnmatchcase(target, imported)
    ]
    assert used


def test_every_room_has_a_rule() -> None:
    assert {room(name) for name in graph()} == FORBIDDEN.keys() | ROOTS | {"cli", "probe"}


def test_the_ground_knows_nothing_but_the_ground() -> None:
    ground = [name for name in graph() if room(name) == "ground"]
    known = {room(target) for name in ground for target in reached(graph(), name)}
    assert known <= {"ground"} | ROOTS


def test_the_probe_needs_only_torch_nvtx_and_itself() -> None:
    allowed = {*sys.stdlib_module_names, "torch", "nvtx"}
    foreign = [
        (path.name, name)
        for path in sorted((HARNESS / "probe").rglob("*.py"))
        for name in imported_names(path)
        if name.split(".")[0] not in allowed and not name.startswith("harness.probe")
    ]
    assert foreign == []


def test_a_command_does_not_know_the_others() -> None:
    """``app`` and the package put the commands together, ``outputs`` their documents."""
    shared = {f"harness.cli.{name}" for name in SHARED_BY_COMMANDS}
    together = {"__init__", "app", "outputs"}
    wrong = [
        (path.name, name)
        for path in sorted((HARNESS / "cli").glob("*.py"))
        for name in graph()[module_name(path)]
        if room(name) == "cli" and name not in shared and path.stem not in together
    ]
    assert wrong == []


def test_a_command_prints_through_output_alone() -> None:
    """There the words of strangers lose what would steer a terminal; the package prints errors."""
    prints = {"print", "typer.echo", "sys.stdout.write", "sys.stderr.write"}
    wrong = [
        (path.name, call)
        for path in sorted((HARNESS / "cli").rglob("*.py"))
        for call in called(path) & prints
        if path not in (HARNESS / "cli" / "output.py", HARNESS / "cli" / "__init__.py")
    ]
    assert wrong == []


def test_no_file_imports_itself_through_others() -> None:
    circles = [
        " → ".join(ways[name]) for name in graph() if name in (ways := reached(graph(), name))
    ]
    assert circles == []


def test_a_file_can_be_held_in_the_head() -> None:
    long = {
        f"{module_name(path).removeprefix('harness.')}.{name}": lines
        for path in FILES
        for name, lines, limit in definitions(path.read_text(encoding="utf-8"))
        if lines > limit
    }
    assert long == {}


def definitions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the file, each class and each function: its lines, and how many it may have."""
    yield "", len(text.splitlines()), 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            limit = 150 if isinstance(node, ast.ClassDef) else 60
            yield node.name, (node.end_lineno or 0) - node.lineno + 1, limit


def test_nothing_is_evaluated_or_run_through_a_shell() -> None:
    never = {"eval", "exec", "os.system", "pickle.load", "pickle.loads", "yaml.load"}
    never |= {"tempfile.mktemp"}
    assert [(path.name, called(path) & never) for path in FILES if called(path) & never] == []
    shells = [
        (path.name, node.lineno)
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "shell"
    ]
    assert shells == []


def test_what_runs_beside_the_gpu_needs_no_tables() -> None:
    code = (
        "import sys, harness.run.execute, harness.problem.plan, harness.engines.local\n"
        "from harness.problem import checks, manifest; from pathlib import Path\n"
        "manifest.find(Path('problems'), '1')\n"
        "heavy = {'polars', 'altair', 'jinja2', 'msgspec', 'torch'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    root = HARNESS.parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom harness.cli.app import app\n"
        "app(['--help'], standalone_mode=False)\n"
        "heavy = {'polars', 'altair', 'jinja2', 'msgspec', 'pydantic', 'yaml', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Commands:" in done.stdout
