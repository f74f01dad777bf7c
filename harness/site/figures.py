"""The figures of worklogs, also as Vega-Lite that a reader can zoom into and point at.

A page shows a figure's SVG. Beside it a script of the site puts a button that loads Vega, one file
for the whole site, and the figure's specification, and draws the figure anew. The specification is
the one that the report keeps beside the SVG: nothing is drawn to build the site.
"""

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

from harness.report import figure_files
from harness.report.chart import VEGA_LITE
from harness.report.page import Page
from harness.site.tree import Tree

_FIGURE = re.compile(r"!\[[^\]]*\]\((?P<to>(?:\.\./)?figures/(?P<name>[\w.+-]+))\.svg\)")
_CLIPPED = frozenset({"line", "point", "bar", "rect", "area", "circle"})
"""Marks that stay within a zoomed plot; texts and their leaders stand outside of it."""


def add(tree: Tree, study: Page, pages: Iterable[str]) -> None:
    """Add the specification of each figure that these pages of a report show, and mark its place.

    A figure without one stays a picture: :func:`harness.report.figure_files.specification`.
    """
    folder = study.folder.relative_to(tree.checkout).as_posix()

    def marked(shown: re.Match[str]) -> str:
        specification = figure_files.specification(
            study.folder / "figures" / f"{shown['name']}.svg"
        )
        if specification is None:
            return shown[0]
        made = script(interactive(specification))
        tree.files[f"{folder}/figures/{shown['name']}.js"] = made
        return f'{shown[0]} <span class="interactive" data-figure="{shown["to"]}.js"></span>'

    for page in pages:
        tree.pages[page] = _FIGURE.sub(marked, tree.pages[page])


def script(specification: dict[str, Any]) -> str:
    """Return the script by which a page takes a specification: a file may not read another one."""
    return f"figure({json.dumps(specification)});\n"


@cache
def vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script, which sets ``vegaEmbed``."""
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)
    return f"(() => {{\n{bundle}\n}})();\n"


def interactive(specification: dict[str, Any]) -> dict[str, Any]:
    """Return a specification whose marks say what they show, and whose plots can be zoomed."""
    made = deepcopy(specification)
    made["config"] = {**made.get("config", {}), "mark": {"tooltip": {"content": "encoding"}}}
    for place, plot in enumerate(_plots(made)):
        units = list(_units(plot))
        zoomed = next((unit for unit in units if _continuous(unit)), None)
        for number, unit in enumerate(units):
            mark = unit["mark"] if isinstance(unit["mark"], dict) else {"type": unit["mark"]}
            unit["mark"] = mark | {"clip": mark["type"] in _CLIPPED}
            # A layer beside one with a selection hears of the pointer only if it has its own.
            own: dict[str, Any] = {"name": f"part_{place}_{number}", "select": "point"}
            if unit is zoomed:
                select = {"type": "interval", "encodings": _continuous(unit)}
                own |= {"select": select, "bind": "scales"}
            unit["params"] = [*unit.get("params", []), own]
    return made


def _plots(view: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts of a figure that have axes of their own."""
    several = view.get("vconcat") or view.get("hconcat") or view.get("concat")
    if several is None:
        yield view
    for part in several or []:
        yield from _plots(part)


def _units(view: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the layers of a plot, each with a mark of its own."""
    if "mark" in view:
        yield view
    for part in view.get("layer", []):
        yield from _units(part)


def _continuous(unit: dict[str, Any]) -> list[str]:
    """Return the channels of a layer along which a reader can zoom."""
    encoded = {name: unit.get("encoding", {}).get(name, {}) for name in ("x", "y")}
    return [
        name
        for name, channel in encoded.items()
        if "field" in channel and channel.get("type") == "quantitative"
    ]
