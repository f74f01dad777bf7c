"""A site of a single page, built with MkDocs."""

import base64
import hashlib
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.site import build, serve
from harness.site.terms import Places
from harness.site.tree import Tree
from tests.support import chromium

PAGE = """\
# Home

| word | number |
| --- | ---: |
| quokka | 1 |

<script>document.documentElement.dataset.ran = 1</script>
"""


def built(folder: Path, site: Path) -> None:
    tree = Tree(folder)
    tree.pages |= {"index.md": PAGE, "some/where/else.md": "# Elsewhere\n"}
    navigation = [{"Home": "index.md"}, {"Elsewhere": "some/where/else.md"}]
    terms: dict[str, Places] = {"words": {}, "codes": {}, "findings": {}}
    build.build(build.Sources(tree, navigation, terms), site)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        built(folder, Path("site"))
    return folder / "site"


def test_a_relative_folder_is_below_the_current_one(site: Path) -> None:
    assert "Home" in (site / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["index.html", "some/where/else.html", "404.html"])
def test_the_policy_has_the_hashes_of_the_themes_scripts_alone(site: Path, page: str) -> None:
    html = (site / page).read_text(encoding="utf-8")
    head, policy, *others = re.split(
        r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', html
    )
    assert not re.search(r"<(script|style|link)\b", head)
    assert len(others) == 1
    inline = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    ours = [text for text in inline if "dataset.ran" not in text]
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in ours]
    assert re.findall(r"'sha256-([^']+)'", policy) == hashes
    assert "unsafe" not in policy
    assert (len(inline) > len(ours)) == (page == "index.html")


def test_no_element_has_a_style_or_a_handler(site: Path) -> None:
    for page in site.rglob("*.html"):
        html = page.read_text(encoding="utf-8")
        tags = re.sub(r"<(script|style)\b.*?</\1>", "", html, flags=re.DOTALL)
        assert not re.search(r"<[^>]*\s(?:style|on\w+)\s*=", tags), page


@pytest.fixture(scope="module")
def served(site: Path) -> Iterator[str]:
    with serve.server(site, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")
def test_a_served_site_searches_and_runs_no_script_of_a_page(site: Path, served: str) -> None:
    with chromium.opened(site / "some/where/else.html") as page:
        page.send("Page.navigate", url=f"{served}index.html")
        page.wait_for("location.protocol === 'http:' && document.documentElement?.dataset.ready")
        assert page.evaluate("document.documentElement.dataset.ran") is None
        for cell in ("th:last-child", "td:last-child"):
            aligned = f"getComputedStyle(document.querySelector('{cell}')).textAlign"
            assert page.evaluate(aligned).endswith("right")
        page.evaluate("document.querySelector('.md-search__input').focus()")
        ready = "document.querySelector('.md-search-result__meta').innerText.startsWith('Type')"
        page.wait_for(ready)
        page.send("Input.insertText", text="quokka")
        page.press("Shift")
        links = "[...document.querySelectorAll('.md-search-result__link')].map((each) => each.href)"
        assert served in page.wait_for(f"({links}).join()")
        (refused,) = page.complaints
        assert "inline script violates" in refused
