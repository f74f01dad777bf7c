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

LEFT = {"machine", "probe", "engines", "run", "batch"}
"""Rooms that need the GPU's host, left of the captures."""
GROUND = {
    "",
    "allocator",
    "bounded",
    "checkout",
    "confined",
    "confined_server",
    "endings",
    "errors",
    "files",
    "json_text",
    "locks",
    "maker",
    "plain",
    "process",
    "program",
    "references",
    "warden",
}

FORBIDDEN = {
    "problem": LEFT | {"captures", "store", "extract", "analysis", "report", "cli"},
    "machine": {"run", "batch", "engines", "captures", "extract", "analysis", "report", "cli"},
    "engines": {"run", "batch", "extract", "analysis", "report", "cli"},
    "run": {"batch", "extract", "report", "cli"},
    "batch": {"extract", "report", "cli"},
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

DECLARATIONS = ("harness.captures.kind", "harness.captures.registry", "harness.captures.*.kind")
"""What a kind is, as plain data: any room may ask it. It names its readers and imports none."""

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
        "claim_outputs",
        "cluster",
        "completion",
        "engine_options",
        "judgement",
        "layout",
        "opening",
        "output",
        "outputs",
    ),
    *("planned", "problem_argument", "progress", "resolve", "run_options", "shown.head", "waiting"),
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


def declares(module: str) -> bool:
    return any(fnmatchcase(module, pattern) for pattern in DECLARATIONS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HARNESS)))
def test_a_room_does_not_reach_the_rooms_it_must_not(path: Path) -> None:
    module = module_name(path)
    ways = reached(without_permitted(), module)
    wrong = [
        " → ".join(way)
        for target, way in ways.items()
        if room(target) in FORBIDDEN.get(room(module), set()) and not declares(target)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    "path", sorted((HARNESS / "analysis").rglob("*.py")), ids=lambda path: path.name
)
def test_analysis_opens_no_file(path: Path) -> None:
    if path.stem == "datasheets":
        return  # its own data, beside it
    opening = {"open", "read", "read_brief", "read_bytes", "read_text", "load", "read_parquet"}
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    assert {call for call in calls if call.rpartition(".")[2] in opening} == set()


def test_no_test_imports_another_test() -> None:
    wrong = [
        (path.name, name)
        for path in sorted((HARNESS.parent / "tests").rglob("*.py"))
        for name in imported_names(path)
        if name.startswith("tests.") and not name.startswith("tests.support.")
    ]
    assert wrong == []


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
    assert {room(name) for name in graph()} == FORBIDDEN.keys() | GROUND | {
        "__main__",
        "cli",
        "probe",
    }


@pytest.mark.parametrize("name", sorted(GROUND - {""}))
def test_the_ground_knows_nothing_but_the_ground(name: str) -> None:
    assert {room(target) for target in reached(graph(), f"harness.{name}")} <= GROUND


@pytest.mark.parametrize("module", sorted(filter(declares, graph())))
def test_a_declaration_imports_no_reader(module: str) -> None:
    readers = [
        target
        for target in reached(graph(), module)
        if room(target) == "captures" and not declares(target)
    ]
    assert readers == []


@pytest.mark.parametrize(
    "path", sorted((HARNESS / "probe").rglob("*.py")), ids=lambda path: path.name
)
def test_the_probe_needs_only_torch_nvtx_and_itself(path: Path) -> None:
    allowed = {*sys.stdlib_module_names, "torch", "nvtx"}
    foreign = [
        name
        for name in imported_names(path)
        if name.split(".")[0] not in allowed and not name.startswith("harness.probe")
    ]
    assert foreign == []


@pytest.mark.parametrize("path", sorted((HARNESS / "cli").glob("*.py")), ids=lambda path: path.name)
def test_a_command_does_not_know_the_others(path: Path) -> None:
    if path.stem in ("__init__", "app"):
        return  # they put the commands together
    others = {name for name in graph()[module_name(path)] if room(name) == "cli"}
    assert others <= {f"harness.cli.{name}" for name in SHARED_BY_COMMANDS}


@pytest.mark.parametrize(
    "path", sorted((HARNESS / "cli").rglob("*.py")), ids=lambda path: path.name
)
def test_a_command_prints_through_output_alone(path: Path) -> None:
    """There the words of strangers lose what would steer a terminal."""
    if path in (HARNESS / "cli" / "output.py", HARNESS / "cli" / "__init__.py"):
        return  # the latter prints errors
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    assert calls.isdisjoint({"print", "typer.echo", "sys.stdout.write", "sys.stderr.write"})


def test_no_file_imports_itself_through_others() -> None:
    circles = [
        " → ".join(ways[name]) for name in graph() if name in (ways := reached(graph(), name))
    ]
    assert circles == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HARNESS)))
def test_a_file_can_be_held_in_the_head(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    long = {
        f"{module_name(path).removeprefix('harness.')}.{name}": lines
        for name, lines, limit in definitions(text)
        if lines > limit
    }
    assert long == {}


def definitions(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield the name of each class and function, its lines and how many it may have."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            limit = 150 if isinstance(node, ast.ClassDef) else 60
            yield node.name, (node.end_lineno or 0) - node.lineno + 1, limit


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HARNESS)))
def test_nothing_is_evaluated_or_run_through_a_shell(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in ("eval", "exec", "os.system", "pickle.load", "pickle.loads")
            assert called not in ("yaml.load", "tempfile.mktemp")
            assert not any(keyword.arg == "shell" for keyword in node.keywords)


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
