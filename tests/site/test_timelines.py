"""Timelines of reports: one a cell, and two of one study's reports side by side."""

from dataclasses import replace
from pathlib import Path

from harness.report.page import Page
from harness.site import capture_page, timelines
from harness.site.tree import Tree
from tests.support.hostile_page import hostile_page


def report(folder: Path, target: str) -> Page:
    """Return a report of one study; what its memory capture holds takes long to draw."""
    study = hostile_page("word", folder / "problems" / "9-example")
    known = study.provenance.cells[0]
    names = study.tables["cells"]["cell"]
    cells = tuple(known.model_copy(update={"cell": name}) for name in names)
    kept = study.tables["cells"].filter(study.tables["cells"]["capture"] != "memory")
    return replace(
        study,
        folder=folder / "reports" / "9-example" / target,
        provenance=study.provenance.model_copy(update={"cells": cells}),
        tables=study.tables | {"cells": kept},
    )


def test_a_cell_stands_beside_the_same_cell_of_another_gpu(tmp_path: Path) -> None:
    here, there = (report(tmp_path, target) for target in ("gpu-a", "gpu-b"))
    tree = Tree(tmp_path, pages={"reports/9-example/gpu-a/README.md": "# Worklog\n"})
    alone = timelines.add(tree, here, {}, timelines.Panels(tmp_path))
    both = timelines.add(tree, here, {}, timelines.Panels(tmp_path), [there])
    assert alone.drawn
    assert alone.targets == {}
    assert {cell for cell, _ in both.targets} == both.drawn
    assert {target for _, target in both.targets} == {"gpu-b"}
    for (case, variant), target in both.targets:
        name = both.targets[(case, variant), target]
        page = str(tree.files[f"reports/9-example/gpu-a/{name}"])
        for folder in ("gpu-a", "gpu-b"):
            assert f"reports/9-example/{folder}:{case}.{variant}" in page
    listed = tree.made[capture_page.add(tree, here, both)]
    assert listed.count("the same on gpu-b") == len(both.targets)
