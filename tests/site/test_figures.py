"""Figures that are drawn anew in the browser: under the site's own policy, from files."""

import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from jinja2 import Environment

from harness.report import chart, figure_files
from harness.report.sections import sweep
from harness.site import figures
from harness.site.tree import Tree
from harness.view import policy
from tests.support import chromium
from tests.support.hostile_page import hostile_page

THEME = resources.files("harness.site") / "theme"
ASSETS = ("figures.js", "site.css")
META = re.compile(r"<meta http-equiv=.*>")
DRAWN = "document.querySelector('.drawn')"
BUTTON = "document.querySelector('.interactive button')"


def drawn() -> chart.Figure:
    rows = [
        {"series": series, "size": size, "value": factor * size}
        for series, factor in (("slow", 3.0), ("<b>fast</b>", 1.0))
        for size in (1, 16, 256)
    ]
    figure = sweep.draw(rows, "time, ms", "M")
    assert isinstance(figure, chart.Figure)
    return figure


def leaves(view: dict[str, Any]) -> list[dict[str, Any]]:
    if "layer" not in view:
        return [view]
    return [leaf for part in view["layer"] for leaf in leaves(part)]


def test_every_plot_can_be_zoomed_once_and_keeps_its_marks_inside() -> None:
    made = figures.interactive(drawn().specification)
    layers = leaves(made)
    params = [each for layer in layers for each in layer["params"]]
    zooms = [each["select"]["encodings"] for each in params if each.get("bind") == "scales"]
    assert zooms == [["x", "y"]]
    marks = {layer["mark"]["type"]: layer["mark"].get("clip") for layer in layers}
    assert marks == {"rule": False, "line": True, "point": True, "text": False}
    assert "params" not in str(drawn().specification)


def test_only_a_figure_that_is_drawn_as_it_stands_is_marked(tmp_path: Path) -> None:
    study = hostile_page("word", tmp_path / "problems" / "9-example")
    folder = tmp_path / "reports" / "9-example" / "gpu"
    (folder / "figures").mkdir(parents=True)
    names = ("same", "other", "flipped", "early")
    for name, text in figure_files.texts({f"{name}.svg": drawn() for name in names}).items():
        (folder / "figures" / name).write_text(text)
    (folder / "figures" / "other.svg").write_text("<svg/>")
    flipped = folder / "figures" / "flipped.json"
    flipped.write_text(flipped.read_text().replace("slow", "fast", 1))
    (folder / "figures" / "early.json").unlink()
    page = "reports/9-example/gpu/README.md"
    tree = Tree(tmp_path, pages={page: "".join(f"![a](figures/{name}.svg)\n" for name in names)})
    figures.add(tree, replace(study, folder=folder), [page])
    assert tree.pages[page].splitlines() == [
        '![a](figures/same.svg) <span class="interactive" data-figure="figures/same.js"></span>',
        *(f"![a](figures/{name}.svg)" for name in names[1:]),
    ]
    shown = figures.script(figures.interactive(drawn().specification))
    assert tree.files == {"reports/9-example/gpu/figures/same.js": shown}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    """One figure on a page with the site's policy and its script."""
    folder = tmp_path_factory.mktemp("figures")
    specification = figures.interactive(drawn().specification)
    study = Tree(folder)
    jinja = policy.on_env(Environment(autoescape=False))  # noqa: S701 - of text of our own
    (meta,) = META.findall((THEME / "main.html").read_text())
    ours = jinja.from_string(meta).render(written="")
    study.files |= {
        "figure.svg": str(drawn()),
        "figure.js": figures.script(specification),
        "assets/vega.js": figures.vega(),
        **{f"assets/{name}": (THEME / "assets" / name).read_text() for name in ASSETS},
        "page.html": (
            f"<!doctype html><html data-ready='true'><title>x</title>{ours}"
            "<link rel='stylesheet' href='assets/site.css'><p>"
            "<img src='figure.svg'><span class='interactive' data-figure='figure.js'></span></p>"
            "<script src='assets/figures.js'></script></html>"
        ),
    }
    study.write(folder)
    with chromium.opened(folder / "page.html") as opened:
        yield opened


def shown(page: chromium.Page) -> str:
    text: str = page.evaluate(f"{DRAWN}.textContent")
    return text


@pytest.mark.slow
@pytest.mark.skipif(chromium.PROGRAM is None, reason="Chromium is not installed")
def test_a_figure_is_drawn_anew_zoomed_and_put_back(page: chromium.Page) -> None:
    assert not [url for url in page.requests if url.endswith(("vega.js", "figure.js"))]
    page.wait_for(f"!!{BUTTON}")
    page.evaluate(f"{BUTTON}.focus()")
    page.press("Enter")
    page.wait_for(f"{DRAWN}?.hidden === false && !!{DRAWN}.querySelector('svg')")
    assert page.evaluate("document.querySelector('img').hidden")
    assert "<b>fast</b>" in shown(page)
    clipped = "['line', 'text'].map((mark) => !!document.querySelector(`.mark-${mark}[clip-path]`))"
    assert page.evaluate(clipped) == [True, False], "names stand outside of the plot"
    box = page.evaluate(
        f"(() => {{ const box = {DRAWN}.querySelector('.mark-symbol path').getBoundingClientRect();"
        " return [box.x + box.width / 2, box.y + box.height / 2]; })()"
    )
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    assert page.evaluate("document.querySelectorAll('style').length") == 0
    told = page.wait_for("document.querySelector('#vg-tooltip-element.visible')?.innerText")
    assert "slow" in told or "fast" in told
    style = "getComputedStyle(document.getElementById('vg-tooltip-element'))"
    assert page.evaluate(f"[{style}.position, {style}.visibility]") == ["fixed", "visible"]
    before = shown(page)
    page.send(
        "Input.dispatchMouseEvent", type="mouseWheel", x=box[0], y=box[1], deltaX=0, deltaY=-600
    )
    page.wait_for(f"{DRAWN}.textContent !== {before!r}")
    page.evaluate(f"{BUTTON}.click()")
    assert page.evaluate(f"[{DRAWN}.hidden, document.querySelector('img').hidden]") == [True, False]
    assert page.complaints == []
    assert {url.partition(":")[0] for url in page.requests} <= {"file", "data"}
