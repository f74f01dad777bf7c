"""The house's rules that a machine can hold: who may import whom, and what is never done."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HARNESS = Path(__file__).parents[1] / "harness"
FILES = sorted(HARNESS.rglob("*.py"))

# What a room must not know: the right of the waist nothing of its left, and the other way round.
FORBIDDEN = {
    "analysis": (
        "harness.captures",
        "harness.run.execute",
        "harness.engines",
        "harness.report",
        "harness.cli",
    ),
    "captures": ("harness.analysis", "harness.run.execute", "harness.report", "harness.cli"),
    "engines": ("harness.analysis", "harness.report", "harness.cli", "harness.run.execute"),
    "report": ("harness.captures", "harness.run.execute", "harness.engines", "harness.cli"),
}
PROBE_MAY = ("torch", "harness.probe")


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HARNESS)))
def test_a_room_does_not_know_the_rooms_it_must_not(path: Path) -> None:
    room = path.relative_to(HARNESS).parts[0]
    for name in imports(path):
        assert not name.startswith(FORBIDDEN.get(room, ())), name
    if room == "probe":
        foreign = [
            name
            for name in imports(path)
            if name.split(".")[0] not in sys.stdlib_module_names and not name.startswith(PROBE_MAY)
        ]
        assert foreign == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HARNESS)))
def test_a_file_can_be_held_in_the_head(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 400


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
        "heavy = {'polars', 'altair', 'jinja2', 'msgspec', 'pydantic', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
