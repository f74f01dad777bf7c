"""A report's figures as files: each as SVG, and beside it what it was drawn from.

``NAME.json`` holds the figure's Vega-Lite, from which the site draws it anew for who zooms into it,
and the sha256 of the SVG that it was drawn as.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.ground import files, json_text
from harness.ground.errors import StoreError
from harness.report.chart import Figure


def texts(figures: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of the files of a page's figures, by name."""
    specifications = {
        Path(name).with_suffix(".json").name: json_text.sealed(
            {"svg": _sha256(figure), "specification": figure.specification}, dense=True
        )
        for name, figure in figures.items()
        if isinstance(figure, Figure)
    }
    return {**figures, **specifications}


def specification(svg: Path) -> dict[str, Any] | None:
    """Return the Vega-Lite that a figure was drawn from.

    None where no file vouches for it: an earlier harness wrote none, or one of the two changed.
    """
    try:
        drawn = files.read_json(svg.with_suffix(".json"))
        same = drawn.get("svg") == _sha256(svg.read_text(encoding="utf-8"))
    except (StoreError, OSError, UnicodeDecodeError):
        return None
    found = drawn.get("specification")
    return found if same and isinstance(found, dict) else None


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
