"""The policy of a page: what we wrote runs by its hash, and nothing that came in with a name."""

import base64
import hashlib
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from harness.view import document, policy
from tests.support import chromium, planted
from tests.support.programs import US, Program
from tests.support.subjects import subject

NAME = "<script>document.documentElement.dataset.inline = 1</script>"


def hashed(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def rules(policy: str) -> dict[str, list[str]]:
    return {kind: places for kind, *places in (each.split() for each in policy.split("; "))}


@pytest.fixture(scope="module")
def html() -> str:
    made = Program()
    for _ in range(5):
        made.launch(50 * US, NAME)
    return document.page([subject("made", made.tables())])


def stated(html: str) -> str:
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html)
    assert found
    return unescape(found[1])


def test_inline_scripts_and_styles_are_allowed_by_hash_and_nothing_else() -> None:
    written = "<style>a{b:'é'}</style><script>x()</script>\n<script>if (1 < 2 && 3) y()</script>"
    known = rules(policy.of(written, script="'self'", img="data:"))
    assert known == {
        "default-src": ["'none'"],
        "script-src": ["'self'", hashed("x()"), hashed("if (1 < 2 && 3) y()")],
        "style-src": [hashed("a{b:'é'}")],
        "img-src": ["data:"],
        **{kind: ["'none'"] for kind in ("object-src", "base-uri", "form-action")},
    }


def test_a_page_without_scripts_allows_none() -> None:
    data = '<script type="application/json">{"a": 1}</script><script src="a.js"></script>'
    known = rules(policy.of(data))
    assert known["script-src"] == known["style-src"] == ["'none'"]


def test_the_hashes_are_those_of_the_page_as_it_was_written(html: str) -> None:
    known = rules(stated(html))
    (style,) = re.findall(r"<style>(.*?)</style>", html, re.DOTALL)
    (script,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert known["style-src"] == [hashed(style)]
    assert known["script-src"] == [hashed(script)]
    assert known["img-src"] == ["data:"]
    assert "unsafe" not in stated(html)


def test_no_element_has_a_style_or_a_handler(html: str) -> None:
    tags = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
    assert not re.search(r"<[^>]*\s(?:style|on\w+)\s*=", tags)


@pytest.fixture(scope="module")
def page(html: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    file = tmp_path_factory.mktemp("page") / "view.html"
    holding = html.replace("<main>", f"{planted.MARKUP}<main>")
    assert holding != html
    file.write_text(holding)
    file.with_name("none.html").write_text(
        re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", holding)
    )
    with chromium.opened(file) as opened:
        yield opened


@pytest.mark.slow
@pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")
def test_planted_markup_does_nothing_and_the_page_works(page: chromium.Page) -> None:
    assert planted.acted(page) == set()
    assert all("Content Security Policy" in each for each in page.complaints), page.complaints
    assert page.evaluate("document.querySelectorAll('canvas').length") == 1
    assert page.evaluate("document.querySelector('tbody').rows.length") == 1
    drawn = "document.querySelector('canvas').clientHeight"
    assert page.evaluate(drawn) > 30, "a script may set a style"


@pytest.mark.slow
@pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")
def test_the_markup_acts_without_a_policy(page: chromium.Page) -> None:
    url = page.evaluate("location.href")
    page.open(Path(url.removeprefix("file://")).with_name("none.html"), 1200, 900)
    assert planted.acted(page) == planted.ACTS
