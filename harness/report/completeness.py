"""What replacing a standing report by a new one would lose: measured cells and kept captures."""

from pathlib import Path

from harness.evidence import capture_list, provenance
from harness.evidence import tables as evidence
from harness.evidence.tables import Tables
from harness.ground.errors import HarnessError


def loss(standing: Path, new: Path) -> str:
    """Return in one line what ``new`` lacks of the report ``standing``, empty if nothing.

    A standing report whose evidence cannot be read may hold anything, so that is a loss as well.
    """
    if not (standing / "evidence").is_dir():
        return ""
    try:
        cells = measured(evidence.load(standing / "evidence"))
        captures = _captures(standing)
    except HarnessError as error:
        return f"the report that stands cannot be compared: {error}"
    lacks = (
        _whole(standing, new),
        _share("cells", cells, measured(evidence.load(new / "evidence"))),
        _share("captures", captures, _captures(new)),
    )
    return ", ".join(filter(None, lacks))


def _whole(standing: Path, new: Path) -> str:
    """Return the parts of a full run that a short one lacks, whatever the cells of both."""
    runs = [provenance.load(report / "evidence").run for report in (standing, new)]
    return (
        "the claims outside of the short path"
        if [r.is_short for r in runs] == [False, True]
        else ""
    )


def measured(tables: Tables) -> set[str]:
    """Return the names of the cells that ran well: case, variant, capture and round."""
    cells = tables["cells"]
    return set(cells.filter(cells["status"] == "ok")["cell"])


def _captures(report: Path) -> set[str]:
    """Return the names of the captures that a report keeps, in git or in the store."""
    listed = capture_list.read(report / "evidence")
    if listed:
        return {capture.name for capture in listed.captures}
    return {path.name for path in (report / "captures").glob("*")}


def _share(things: str, standing: set[str], new: set[str]) -> str:
    """Return "33 of the report's 231 cells (no …)", empty if ``new`` has them all."""
    lacking = sorted(standing - new)
    if not lacking:
        return ""
    more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
    count = len(standing & new)
    return f"{count} of the report's {len(standing)} {things} (no {lacking[0]}{more})"
