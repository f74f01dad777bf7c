"""The instructions of a kernel that decide its time: where its warps wait, and what it runs."""

from harness.report.escape import Markdown, table
from harness.report.numbers import number
from harness.report.page import Page, not_measured


def sass(page: Page, variant: str, case: str, kernel: str = "", lines: int = 12) -> Markdown:
    """Return a listing of the ``lines`` instructions of a kernel at which most warps waited.

    They stand in the order of their addresses; an ellipsis stands for those between them.
    ``kernel`` is a part of the kernel's name.
    """
    from harness.analysis.instructions import of_kernel

    measured = of_kernel(page.metrics, variant, case, kernel)
    if measured is None:
        return not_measured()
    hottest = measured.rows.sort("samples", descending=True, maintain_order=True).head(lines)
    rows, last = [f"{'samples':>7}  {'warps wait for':<18}  instruction"], None
    for row in hottest.sort("index").iter_rows(named=True):
        if last is not None and row["index"] > last + 1:
            rows.append(f"{'…':>7}")
        last = row["index"]
        stall = (row["stall"] or "–").replace("_", " ")
        rows.append(f"{100 * row['share']:>5.1f} %  {stall:<18}  {_one_line(row['sass'])}")
    return Markdown("```text\n" + "\n".join(rows) + "\n```")


def opcodes(page: Page, variant: str, case: str, kernel: str = "", most: int = 8) -> Markdown:
    """Return the table of the opcodes that a kernel's warps execute most."""
    from harness.analysis.instructions import of_kernel, opcodes

    measured = of_kernel(page.metrics, variant, case, kernel)
    if measured is None:
        return not_measured()
    rows = [
        [Markdown(f"`{row['opcode']}`"), number(row["executed"]), f"{100 * row['share']:.1f} %"]
        for row in opcodes(measured).head(most).iter_rows(named=True)
    ]
    return table(["opcode", "executed by warps", "share"], rows, 1)


def _one_line(sass: str) -> str:
    """Return an instruction without alignment, and without backticks, which end a listing."""
    return " ".join(sass.replace("`", "'").split())
