"""A template is a contributor's: it reaches data and verbs, and a mistake is one line."""

import contextlib
import os
import resource
import signal
from pathlib import Path

import pytest

from harness.ground.errors import HarnessError, ManifestError
from harness.problem import manifest
from harness.report.escape import Markdown
from harness.report.page import Page
from harness.report.sandbox import plain
from harness.report.sections import SECTIONS
from harness.report.worklog import render
from tests.support.hostile_templates import FILES, MISTAKES, OUT_OF_THE_SANDBOX
from tests.support.manifests import GOOD, written
from tests.support.pages import timed_page


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    folder = written(tmp_path_factory.mktemp("problems"), GOOD)
    (folder / "part.j2").write_text(
        "{% set found = 'a part' %}\nfirst {{ found }}\n{{ nothing }}\n"
    )
    (folder / "macros.j2").write_text("{% macro twice(text) %}{{ text }}{{ text }}{% endmacro %}")
    (folder / "link.j2").symlink_to("/etc/hostname")
    os.mkfifo(folder / "pipe.j2")
    (folder / "folder.j2").mkdir()
    (folder / "latin.j2").write_bytes(b"caf\xe9")
    (folder / "large.j2").write_text("x" * 1_100_000)
    return timed_page(manifest.load(folder), slow=2.0, fast=1.0)


def rendered(page: Page, text: str) -> str:
    template = page.problem.folder / "worklog.md.j2"
    template.write_text(text, encoding="utf-8")
    return render(template, page)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("# {{ problem.title }} {{ problem.number }}", "# A title 9"),
        ("{{ w.m('time', 'slow', 'small') }}", "2 ms"),
        ("{{ 'a*b' }}{{ w.m('time', 'slow', 'small') ~ '*' }}", "a&#42;b2 ms&#42;"),
        (
            "{% for name in problem.variants %}{{ loop.index }}{{ name }} {% endfor %}",
            "1slow 2fast ",
        ),
        ("{{ problem.cases.small.label }}{{ problem['baseline'] }}", "Smallslow"),
        ("{{ (problem.claims | selectattr('id', 'equalto', 'faster') | first).metric }}", "time"),
        ("{% import 'macros.j2' as m %}{{ m.twice('x') }}", "xx"),
        ("{% from 'macros.j2' import twice %}{{ twice('x') }}", "xx"),
        ("{{ 'a b'.split()[1].upper() }}{{ [3, 4].index(4) }}", "B1"),
        (
            "{% call w.details('s') %}{% call w.details('t') %}x{% endcall %}{% endcall %}",
            "<summary>t",
        ),
        ("{% if w.on_gpu %}{{ w.has('time', 'slow', 'small') }}{% endif %}", "True"),
        ("`{{ w.report }}:small.slow`", "`reports/9-example/target:small.slow`"),
        ("{% include 'nope.j2' ignore missing %}after", "after"),
        (
            "{{ '' ~ ([2, 1] | map('abs')) ~ [[3] | select] }}",
            "&#91;2, 1&#93;&#91;&#91;3&#93;&#93;",
        ),
        ("{{ 2 ** 10 }} {{ 1.5 }} {{ 'x' * 3 }}", "1024 1.5 xxx"),
    ],
)
def test_what_a_template_may_do(page: Page, text: str, shown: str) -> None:
    assert shown in rendered(page, text)


@pytest.mark.parametrize(("text", "told"), [*OUT_OF_THE_SANDBOX.items(), *MISTAKES.items()])
def test_a_mistake_is_one_line_with_its_place(page: Page, text: str, told: str) -> None:
    with pytest.raises(ManifestError) as raised:
        rendered(page, f"{{# first #}}\n{text}\n")
    line = str(raised.value)
    assert told in line
    assert "\n" not in line
    assert line.startswith(f"{page.problem.folder / 'worklog.md.j2'}, line ")
    assert page.figures == {}


@pytest.mark.parametrize(("text", "told"), FILES.items())
def test_a_template_reads_and_names_no_file_but_its_own(page: Page, text: str, told: str) -> None:
    with pytest.raises(HarnessError) as raised:
        rendered(page, text)
    assert told in str(raised.value)
    assert page.figures == {}


def test_a_mistake_in_a_part_is_told_with_the_part_and_its_line(page: Page) -> None:
    with pytest.raises(ManifestError, match=r"part\.j2, line 3: 'nothing' is undefined"):
        rendered(page, "a\n{% include 'part.j2' %}\n")


def test_the_line_is_that_of_the_mistake(page: Page) -> None:
    with pytest.raises(ManifestError, match=r"worklog\.md\.j2, line 4: "):
        rendered(page, "a\n\n{% if w.on_gpu %}\n{{ w.nothing() }}\n{% endif %}\n")


def test_a_template_that_is_a_link_is_not_read(page: Page, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "worklog.md.j2").symlink_to("secret")
    with pytest.raises(ManifestError, match=r"worklog\.md\.j2: is a link"):
        render(tmp_path / "worklog.md.j2", page)


def test_a_page_after_a_mistake_is_rendered(page: Page) -> None:
    with pytest.raises(ManifestError):
        rendered(page, "{{ nothing }}")
    assert rendered(page, "{{ 1 }}") == "1"


def test_limits_end_with_the_page(page: Page) -> None:
    def limits() -> list[object]:
        timer = signal.getitimer(signal.ITIMER_PROF)
        return [timer, signal.getsignal(signal.SIGPROF), resource.getrlimit(resource.RLIMIT_DATA)]

    before = limits()
    for text in ("{{ w.claims() }}", "{{ nothing }}", "{{ 'a' * 10 ** 10 }}"):
        with contextlib.suppress(ManifestError):
            rendered(page, text)
        assert limits() == before


def failing(_page: Page) -> Markdown:
    raise AssertionError("a bug of a section")


def test_a_bug_of_a_section_is_no_mistake_of_the_template(
    page: Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SECTIONS, "failing", failing)
    (tmp_path / "worklog.md.j2").write_text("{{ w.failing() }}")
    with pytest.raises(AssertionError, match="a bug of a section"):
        render(tmp_path / "worklog.md.j2", page)


@pytest.mark.parametrize(
    "value", ["a", 1, 2.5, None, True, ["a", [1]], {"a": {"markdown": "x"}}, {}]
)
def test_plain_data_comes_back_as_it_was(value: object) -> None:
    assert plain(value) == value


def test_markdown_stays_markdown_on_its_way() -> None:
    assert isinstance(plain(Markdown("**a**")), Markdown)
    assert type(plain("**a**")) is str
