"""The folders of other problems that a problem needs: which they are, and which of their files."""

from modulefinder import ModuleFinder
from pathlib import Path

import pytest

from harness.ground.errors import ManifestError
from harness.problem import manifest, sources
from harness.problem.model import Problem
from harness.problem.state import changed_since, state
from tests.support.manifests import GOOD, written
from tests.support.origins import origin
from tests.support.paths import ROOT

SCRIPT = """\
import sys
from pathlib import Path
BESIDE = Path(__file__).resolve().parents[1] / "4-tools"
sys.path.insert(1, str(BESIDE))
from clock import tick
SIZES = BESIDE / "sizes.json"
cell.fact("wall_time", tick())
"""
CLOCK = "from ticks.fast import tick\nBY = 'counter.py'\n"


def beside(folder: Path, name: str, needs: str = "[]") -> Path:
    """Write another problem beside the example, and return its folder."""
    other = folder / name
    other.mkdir(exist_ok=True)
    (other / "problem.yaml").write_text(f"needs_problems: {needs}\n{GOOD}", encoding="utf-8")
    return other


def problem(folder: Path, needs: str) -> Problem:
    return manifest.load(written(folder, f"needs_problems: {needs}\n{GOOD}"))


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A problem of which another one uses ``clock.py``, which uses ``ticks/``."""
    folder = beside(tmp_path, "4-tools")
    (folder / "ticks").mkdir()
    for name, text in {
        "clock.py": CLOCK,
        "ticks/__init__.py": "",
        "ticks/fast.py": "def tick():\n    return 1\n",
        "ticks/slow.py": "def tick():\n    return 2\n",
        "counter.py": "print(1)\n",
        "repro.py": "import clock\n",
        "sections.py": "from clock import tick\n",
        "kernel.cu": "int a;\n",
        "sizes.json": "[1]\n",
        "others.json": "[2]\n",
    }.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def test_what_a_needed_problem_needs_is_needed_too(tmp_path: Path) -> None:
    beside(tmp_path, "4-tools")
    beside(tmp_path, "8-shapes", "[4-tools]")
    assert [path.name for path in problem(tmp_path, "[8-shapes, 4-tools]").needed.folders] == [
        "4-tools",
        "8-shapes",
    ]
    assert problem(tmp_path, "[]").needed.folders == ()


@pytest.mark.parametrize(
    ("needs", "of_shapes", "told"),
    [
        ("[4-tolls]", "[]", "no problem '4-tolls' beside this one (did you mean 4-tools?)"),
        ("[9-example]", "[]", "is this problem itself (leave it out)"),
        ("[8-shapes]", "[9-example]", "9-example needs 8-shapes needs 9-example (leave one out)"),
        ("[8-shapes]", "[8-shapes]", "leads in a circle: 9-example needs 8-shapes needs 8-shapes"),
        ("[8-shapes]", "[5-x]", "8-shapes: no problem '5-x' beside this one (there are: 4-tools,"),
        ("[/etc]", "[]", "'/etc' is no problem's folder (give the name of one that stands beside"),
        ("[../4-tools]", "[]", "'../4-tools' is no problem's folder"),
        ("[..]", "[]", "'..' is no problem's folder"),
        ("[4-tools/ticks]", "[]", "'4-tools/ticks' is no problem's folder"),
        ("[workloads]", "[]", "'workloads' is no problem's folder"),
        ("['']", "[]", "'' is no problem's folder"),
    ],
)
def test_a_folder_that_cannot_be_needed(
    tmp_path: Path, tools: Path, needs: str, of_shapes: str, told: str
) -> None:
    beside(tmp_path, "8-shapes", of_shapes)
    with pytest.raises(ManifestError) as caught:
        problem(tmp_path, needs)
    line = f"{tmp_path / '9-example' / 'problem.yaml'}: line 1: needs_problems.0: "
    assert str(caught.value).startswith(line)
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert tools.is_dir()


def test_a_folder_is_needed_once(tmp_path: Path, tools: Path) -> None:
    with pytest.raises(ManifestError, match=r"needs_problems\.1: '4-tools' is listed twice"):
        problem(tmp_path, f"[{tools.name}, {tools.name}]")


def test_a_needed_manifest_that_is_no_yaml(tmp_path: Path, tools: Path) -> None:
    (tools / "problem.yaml").write_text("title: [", encoding="utf-8")
    told = r"line 1: needs_problems\.0: the manifest of 4-tools is no YAML \(harness lint 4-tools"
    with pytest.raises(ManifestError, match=told):
        problem(tmp_path, "[4-tools]")


def test_files_count_that_scripts_import_name_or_may_compile(tmp_path: Path, tools: Path) -> None:
    written(tmp_path, GOOD, SCRIPT)
    study = problem(tmp_path, f"[{tools.name}]")
    kept = {"clock.py", "counter.py", "ticks/__init__.py", "ticks/fast.py", "kernel.cu"}
    assert study.used == {f"4-tools/{name}": tools / name for name in kept | {"sizes.json"}}


def test_a_script_that_cannot_be_read_may_use_any_file(tmp_path: Path, tools: Path) -> None:
    written(tmp_path, GOOD, "cell.fact('wall_time', 1)\nfrom (")
    found = problem(tmp_path, f"[{tools.name}]").used
    assert found.keys() == {f"4-tools/{path.relative_to(tools)}" for path in sources.of(tools)}


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("clock.py", f"{CLOCK}N = 2\n", ["clock.py"]),
        ("clock.py", f"# A comment.\n{CLOCK}", []),
        ("ticks/fast.py", "def tick():\n    return 3\n", ["ticks/fast.py"]),
        ("kernel.cu", "int b;\n", ["kernel.cu"]),
        ("sizes.json", "[2]\n", ["sizes.json"]),
        ("others.json", "[3]\n", []),
        ("ticks/slow.py", "def tick():\n    return 3\n", []),
        ("repro.py", "import clock, sys\n", []),
        ("problem.yaml", GOOD, []),
    ],
)
def test_a_run_is_stale_when_a_file_that_it_used_changes(
    tmp_path: Path, tools: Path, file: str, text: str, changed: list[str]
) -> None:
    written(tmp_path, GOOD, SCRIPT)
    study = problem(tmp_path, f"[{tools.name}]")
    run = origin(state=state(study))
    (tools / file).write_text(text, encoding="utf-8")
    assert changed_since(study, [run]) == [f"4-tools/{name}" for name in changed]


def test_to_name_what_was_used_before_makes_no_run_stale(tmp_path: Path, tools: Path) -> None:
    before = manifest.load(written(tmp_path, GOOD, SCRIPT))
    run = origin(state=state(before))
    assert changed_since(problem(tmp_path, f"[{tools.name}]"), [run]) == []


@pytest.mark.parametrize(
    ("study", "file"), [("5", "8-gemm-any-shape/cubins.py"), ("8", "4-custom-hgemm/build.py")]
)
def test_python_s_own_search_finds_no_module_that_does_not_count(study: str, file: str) -> None:
    found = manifest.find(ROOT / "problems", study)
    finder = ModuleFinder([str(folder) for folder in (found.folder, *found.needed.folders)])
    for script in found.scripts:
        if script.suffix == ".py":
            finder.run_script(str(script))
    files = (getattr(each, "__file__", None) for each in finder.modules.values())
    imported = {Path(file) for file in files if file}
    assert imported - {*found.scripts} <= {*found.used.values()}
    assert found.used[file] in imported
