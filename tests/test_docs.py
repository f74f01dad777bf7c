"""Documentation held to the code: the glossary's words, and the links and paths of pages."""

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from pydantic import BaseModel

from harness.cli.app import app
from harness.evidence.kinds import KINDS
from harness.evidence.tables import SCHEMAS
from harness.lint.sentences import A_FOR_PER
from harness.problem import model
from tests.support.imports import graph, room
from tests.support.paths import ROOT

GLOSSARY = ROOT / "docs" / "glossary.md"
ARCHITECTURE = ROOT / "docs" / "architecture.md"
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/*.md", "problems/*/README.md", "requirements/*.md")
    for path in ROOT.glob(pattern)
)

SELF_EVIDENT = {
    # manifest
    *("title", "summary", "label", "id", "unit", "source", "software", "columns", "rows"),
    # command line
    *("--json", "--markdown", "--python"),
    # evidence
    *("name", "text", "value", "count", "bytes", "index", "status", "seconds", "gpu", "device"),
    "thread",
}
"""Words that mean what any reader takes them for."""


@cache
def glossary() -> dict[str, str]:
    """Return the meaning of every word; a row may define several words."""
    words: dict[str, str] = {}
    for line in GLOSSARY.read_text(encoding="utf-8").splitlines():
        row = re.fullmatch(r"\| (.+) \| (.+) \|", line)
        if row is None or row[1] in ("word", "---"):
            continue
        for word in row[1].split(", "):
            name = word.strip("`")
            assert name not in words, f"{name} is defined twice"
            words[name] = row[2]
    return words


def manifest_words() -> set[str]:
    models = [
        member
        for _, member in inspect.getmembers(model, inspect.isclass)
        if issubclass(member, BaseModel) and member.__module__ == model.__name__
    ]
    return {field.alias or name for member in models for name, field in member.model_fields.items()}


def command_words(command: Any = None, path: tuple[str, ...] = ("harness",)) -> set[str]:
    """Return the commands, each with the names it is called by, and their options."""
    command = command or typer.main.get_command(app)
    words = {
        option for parameter in command.params for option in parameter.opts if option[:1] == "-"
    }
    commands = getattr(command, "commands", {})
    if not commands:
        words.add(" ".join(path))
    for name, child in commands.items():
        words |= command_words(child, (*path, name))
    return words


def evidence_words() -> set[str]:
    return {*SCHEMAS, *(column for columns in SCHEMAS.values() for column in columns)}


def kind_words() -> set[str]:
    return {*KINDS, *(measure for kind in KINDS.values() for measure in kind.measures)}


WORDS = {
    "manifest": manifest_words,
    "command line": command_words,
    "evidence": evidence_words,
    "kinds": kind_words,
}


@pytest.mark.parametrize("origin", WORDS)
def test_every_word_is_defined(origin: str) -> None:
    assert sorted(WORDS[origin]() - glossary().keys() - SELF_EVIDENT) == []


def test_every_defined_word_is_used() -> None:
    names = set().union(*(words() for words in WORDS.values()))
    sources = [*(ROOT / "harness").rglob("*.py"), *PAGES, *(ROOT / "problems").glob("*/*.md.j2")]
    text = " ".join(
        " ".join(path.read_text(encoding="utf-8").lower().split())
        for path in sources
        if path != GLOSSARY
    )
    unused = [
        word
        for word in glossary().keys() - names
        if not re.search(rf"(?<!\w){re.escape(word.lower())}s?(?!\w)", text)
    ]
    assert unused == []


def test_no_self_evident_word_is_idle() -> None:
    names = set().union(*(words() for words in WORDS.values()))
    assert sorted(SELF_EVIDENT - names) == []
    assert sorted(SELF_EVIDENT & glossary().keys()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_links_to_exists(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"https?://|mailto:", link):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/*.md")), ids=lambda page: page.name)
def test_what_counts_by_each_says_per(page: Path) -> None:
    prose = re.sub(r"^ {4}[^\n]*|^```.*?^```|`[^`\n]*`", "", page.read_text(), flags=re.M | re.S)
    assert [match[0] for match in A_FOR_PER.finditer(prose)] == []


def test_every_page_stands_once_in_the_tree_of_the_documentation() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    kinds = re.findall(r"^## (.+)$", index, re.MULTILINE)
    assert kinds == ["Tutorials", "How-to guides", "Reference", "Explanation"]
    listed = re.findall(r"^- .*?\]\(([\w-]+\.md)\)", index, re.MULTILINE)
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages)


def test_the_front_door_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


def test_the_site_s_home_page_asks_three_questions_and_its_links_lead_somewhere() -> None:
    home = (ROOT / "harness" / "site" / "home.md").read_text(encoding="utf-8")
    asked = re.findall(r"^## \[(.+)\]\((.+)\)$", home, re.MULTILINE)
    assert [question for question, _ in asked] == [
        "My model is slow",
        "I have a capture",
        "I want to learn",
    ]
    for link in re.findall(r"\]\(([^)\s]+)\)", home):
        name, _, anchor = link.partition("#")
        assert not anchor or anchor in anchors(ROOT / name), link
        assert (ROOT / name).is_file(), link


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings as GitHub makes them."""
    if page.suffix == ".py":
        nodes = ast.walk(ast.parse(page.read_text(encoding="utf-8")))
        return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_path_that_a_page_names_exists(page: Path) -> None:
    named = re.findall(
        r"(?<![\w/.<-])(?:harness|problems|tests|benchmarks|docker|scripts|docs|requirements)"
        r"(?:/[\w.+-]++)++/?+(?![\w/*<…])",
        page.read_text(encoding="utf-8"),
    )
    assert [path for path in named if not (ROOT / path.rstrip(".")).exists()] == []


COMMANDS: Any = typer.main.get_command(app)
WITH_COMMANDS = sorted(
    {*PAGES, *ROOT.glob("problems/**/*.md.j2"), *ROOT.glob("reports/**/*.md")}
    - {ROOT / "CHANGELOG.md"}  # what it says of versions of before holds of them
)


def command_lines(text: str) -> Iterator[str]:
    """Yield what stands behind ``harness`` in the spans and blocks of code of a page."""
    yield from re.findall(r"`(?:\$ )?harness ([^`\n]+)`", text)
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        yield from re.findall(r"^(?:[^#\n]*[ /])?harness ([a-z].*)$", block, re.MULTILINE)


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_command_that_a_page_names_exists_with_its_options(page: Path) -> None:
    for line in command_lines(page.read_text(encoding="utf-8")):
        name, *words = re.split(r" +[#|&>]| -- ", line)[0].split()
        if name in ("COMMAND", "…") or name.startswith("-"):
            continue
        assert name in COMMANDS.commands, line
        known = {option for each in COMMANDS.commands[name].params for option in each.opts}
        options = {re.split("[=…,]", word)[0] for word in words if word.startswith("-")}
        assert options - {"--help", "-h"} <= known, line


ROOMS = {path.parent.name for path in (ROOT / "harness").glob("*/__init__.py")}


def test_the_arrows_of_the_picture_are_the_imports() -> None:
    (picture,) = re.findall(
        r"```mermaid\n(.*?)```", ARCHITECTURE.read_text(encoding="utf-8"), re.DOTALL
    )
    imports = {
        (room(source), room(target)) for source, targets in graph().items() for target in targets
    }
    between = {
        (source, target)
        for source, target in imports
        if source != target and {source, target} <= ROOMS - {"cli", "ground"}
    }
    assert set(re.findall(r"(\w+) --> (\w+)", picture)) == between


def test_every_room_is_described() -> None:
    rooms = set(re.findall(r"^\| \[`harness/(\w+)/`\]", ARCHITECTURE.read_text(), re.MULTILINE))
    assert rooms == ROOMS


def test_every_function_that_the_architecture_names_exists() -> None:
    named = list(definitions_named(ARCHITECTURE))
    assert len(named) > 40
    assert [(path.name, name) for path, name in named if name not in defined(path)] == []


def definitions_named(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield file and name of each "[`file.py`](link): `name`, `other`" of a page."""
    link = r"\]\(([^)]+\.py)\): (`[\w.]+`(?:, `[\w.]+`)*)"
    for path, names in re.findall(link, page.read_text(encoding="utf-8")):
        for name in re.findall(r"`([\w.]+)`", names):
            yield (page.parent / path).resolve(), name


@cache
def defined(path: Path) -> frozenset[str]:
    """Return what a file defines at its top level, and the methods of its classes."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {
                f"{node.name}.{member.name}"
                for member in node.body
                if isinstance(member, ast.FunctionDef)
            }
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(names)


RELIABILITY = ROOT / "docs" / "reliability.md"


def promises() -> dict[str, list[tuple[Path, str]]]:
    """Return the file and the function of each test that docs/reliability.md names, by promise."""
    found = {}
    for line in RELIABILITY.read_text(encoding="utf-8").splitlines():
        if line.startswith("| ") and "tests/" in line:
            promise, tested = line.strip("| ").split(" | ")
            links = re.findall(r"\]\(\.\./(tests/[\w/]+\.py)#(\w+)\)", tested)
            found[promise] = [(ROOT / path, name) for path, name in links]
    return found


@pytest.mark.parametrize("promise", promises())
def test_a_promise_names_tests_that_there_are(promise: str) -> None:
    named = promises()[promise]
    assert named
    for path, name in named:
        assert name.startswith("test_")
        assert name in anchors(path), f"{path.relative_to(ROOT)} has no {name}"


def test_each_file_of_the_battery_stands_for_a_promise() -> None:
    named = {path for each in promises().values() for path, _ in each}
    assert set((ROOT / "tests" / "battery").glob("test_*.py")) <= named
