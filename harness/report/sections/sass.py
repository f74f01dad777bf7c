"""The instructions of a kernel that decide its time: where its warps wait, and what it runs."""

from typing import TYPE_CHECKING

from harness.report.arguments import CaseName, VariantName
from harness.report.columns import DASH
from harness.report.escape import Markdown, code, listing, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured

if TYPE_CHECKING:
    import polars as pl


def sass(
    page: Page,
    variant: VariantName,
    case: CaseName,
    kernel: str = "",
    lines: int = 12,
    between: tuple[str, str] = ("", ""),
) -> Markdown:
    """Return a listing of the ``lines`` instructions of a kernel at which most warps waited.

    They stand in the order of their addresses; an ellipsis stands for those between them.
    ``kernel`` is a part of the kernel's name. With ``between`` the listing is what warps executed
    from the first instruction that holds the first text to the next that holds the second, where
    the kernel has both.
    """
    from harness.analysis.instructions import of_kernel

    measured = of_kernel(page.metrics, variant, case, kernel)
    if measured is None:
        return not_measured()
    shown = _between(measured.rows, *between) if all(between) else measured.rows.clear()
    if shown.is_empty():
        shown = measured.rows.sort("samples", descending=True, maintain_order=True).head(lines)
    rows, last = [f"{'samples':>7}  {'warps wait for':<18}  instruction"], None
    for row in shown.sort("index").iter_rows(named=True):
        if last is not None and row["index"] > last + 1:
            rows.append(f"{'…':>7}")
        last = row["index"]
        stall = (row["stall"] or "–").replace("_", " ")
        rows.append(f"{100 * row['share']:>5.1f} %  {stall:<18}  {_one_line(row['sass'])}")
    return listing(rows, "text")


def _between(rows: "pl.DataFrame", first: str, last: str) -> "pl.DataFrame":
    """Return the executed instructions from one text to the next, none if either is absent."""
    executed = rows.filter(rows["executed"] > 0)
    texts = executed["sass"].to_list()
    start = next((at for at, text in enumerate(texts) if first in text), len(texts))
    end = next((at for at in range(start, len(texts)) if last in texts[at]), -1)
    return executed[start : end + 1] if end >= start else executed.clear()


def opcodes(
    page: Page, variant: VariantName, case: CaseName, kernel: str = "", most: int = 8
) -> Markdown:
    """Return the table of the opcodes that a kernel's warps execute most."""
    from harness.analysis.instructions import of_kernel, opcodes

    measured = of_kernel(page.metrics, variant, case, kernel)
    if measured is None:
        return not_measured()
    rows = [
        [code(row["opcode"] or DASH), number(row["executed"]), f"{100 * row['share']:.1f} %"]
        for row in opcodes(measured).head(most).iter_rows(named=True)
    ]
    return table(["opcode", "executed by warps", "share"], rows, 1)


def _one_line(sass: str) -> str:
    """Return an instruction without alignment, and without backticks, which end a listing."""
    return " ".join(sass.replace("`", "'").split())
