"""Evidence partitioned by cell once, so that a look-up is a look-up and not a filter.

A report asks for thousands of metrics. Filtering every table for each of them takes longer than all
else that rendering does: benchmarks/render_report.py measures it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import polars as pl

from harness.analysis.counters import of_longest_kernel
from harness.evidence.kinds import unprofiled
from harness.evidence.tables import Tables

_RAN_WELL = pl.col("status").eq_missing("ok")


@dataclass(frozen=True)
class Repeats:
    """The cells of one capture of a variant and case: one a round, in the order of rounds.

    ``usable``: rows of the evidence table, of the cells that ran well. ``failed``: round, and the
    status and reason of the others, in the table's order.
    """

    usable: pl.DataFrame
    failed: tuple[tuple[int, str], ...]

    @cached_property
    def cells(self) -> tuple[tuple[int, str], ...]:
        """Return round and name of the usable cells."""
        return tuple(self.usable.select("round", "cell").iter_rows())


class CellTables:
    """The rows of each cell; every look-up is made once. The tables must not change meanwhile."""

    def __init__(self, tables: Tables) -> None:
        self.whole = tables
        self.of = cache(self._of)
        self.repeats = cache(self._repeats)
        self.counters = cache(self._counters)

    def _of(self, cell: str) -> Tables:
        """Return the rows of one cell in every table, without the column ``cell``."""
        return {name: rows.get(cell, self._empty[name]) for name, rows in self._by_cell.items()}

    def _repeats(self, capture: str, variant: str, case: str) -> Repeats:
        """Return the cells of a capture of a variant and case."""
        place = (capture, variant, case)
        usable = self._usable.get(place, self.whole["cells"].clear())
        return Repeats(usable, tuple(self._failed.get(place, ())))

    def _counters(self, cell: str) -> dict[str, float]:
        """Return Nsight Compute's metrics of the longest kernel of a cell."""
        return of_longest_kernel(self.of(cell)["counters"])

    def samples(self, cell: str, metric: str, region: str | None) -> list[float]:
        """Return a cell's samples in order, warm-up left out; of all regions without ``region``."""
        if region is None:
            return self._samples.get((cell, metric), [])
        return self._samples_by_region.get((cell, metric, region), [])

    def fact(self, cell: str, name: str) -> float | None:
        """Return the value that a cell's workload stated under a name, None if it did not."""
        return self._values.get((cell, name))

    def text(self, cell: str, name: str) -> str | None:
        """Return the text that a cell's workload stated under a name, None if it did not."""
        return self._texts.get((cell, name))

    def stated(self, cell: str, fact: str) -> dict[str, str]:
        """Return the text of the fact ``fact.REGION`` by region, of those that a cell stated."""
        prefix = f"{fact}."
        return {
            name.removeprefix(prefix): text
            for (of, name), text in self._texts.items()
            if of == cell and name.startswith(prefix)
        }

    def started(self, capture: str, variant: str, case: str) -> list[float | None]:
        """Return when each of those cells began, in seconds since 1970; None if it is not known."""
        usable = self.repeats(capture, variant, case).usable
        return usable["started"].to_list()

    def regions(self, case: str) -> set[str]:
        """Return the regions in which the timing cells of a case measured."""
        return self._regions.get(case, set())

    @cached_property
    def highest_clock(self) -> float | None:
        """Return the highest SM clock that any cell saw, in MHz."""
        return self.whole["cells"]["sm_mhz_max"].max()  # type: ignore[return-value]  # floats

    @cached_property
    def _by_cell(self) -> dict[str, dict[str, pl.DataFrame]]:
        """Rows by table and cell."""
        return {
            name: {
                cell: rows
                for (cell,), rows in table.partition_by(
                    "cell", as_dict=True, include_key=False
                ).items()
            }
            for name, table in self.whole.items()
        }

    @cached_property
    def _empty(self) -> Tables:
        return {name: table.clear().drop("cell") for name, table in self.whole.items()}

    @cached_property
    def _usable(self) -> dict[tuple[object, ...], pl.DataFrame]:
        """Rows of cells that ran well, by capture, variant and case, in the order of rounds."""
        usable = self.whole["cells"].filter(_RAN_WELL).sort("round", maintain_order=True)
        return usable.partition_by("capture", "variant", "case", as_dict=True)

    @cached_property
    def _failed(self) -> dict[tuple[str, str, str], list[tuple[int, str]]]:
        """Round, status and reason of the others, by the same."""
        failed: dict[tuple[str, str, str], list[tuple[int, str]]] = {}
        for row in self.whole["cells"].filter(~_RAN_WELL).iter_rows(named=True):
            place = (row["capture"], row["variant"], row["case"])
            why = f"{row['status']}: {row['reason']}"
            failed.setdefault(place, []).append((row["round"], why))
        return failed

    @cached_property
    def _settled(self) -> pl.DataFrame:
        warm_up = pl.col("mark").eq_missing("warm-up")
        return self.whole["samples"].filter(~warm_up).sort("index", maintain_order=True)

    @cached_property
    def _samples(self) -> dict[tuple[str, str], list[float]]:
        rows = self._settled.group_by("cell", "metric").agg("value")
        return {(cell, metric): values for cell, metric, values in rows.iter_rows()}

    @cached_property
    def _samples_by_region(self) -> dict[tuple[str, str, str], list[float]]:
        rows = self._settled.group_by("cell", "metric", "region").agg("value")
        return {(cell, metric, region): values for cell, metric, region, values in rows.iter_rows()}

    @cached_property
    def _values(self) -> dict[tuple[str, str], float]:
        return dict(self._facts("value"))

    @cached_property
    def _texts(self) -> dict[tuple[str, str], str]:
        return dict(self._facts("text"))

    def _facts(self, column: str) -> Iterator[tuple[tuple[str, str], Any]]:
        """Yield (cell, name) and what a column of the facts holds; the first of a name counts."""
        rows = self.whole["facts"].drop_nulls(column).unique(["cell", "name"], keep="first")
        for cell, name, fact in rows.select("cell", "name", column).iter_rows():
            yield (cell, name), fact

    @cached_property
    def _regions(self) -> dict[str, set[str]]:
        timing = (
            self.whole["cells"].filter(pl.col("capture") == unprofiled()).select("cell", "case")
        )
        rows = self.whole["samples"].select("cell", "region").unique().join(timing, on="cell")
        regions: dict[str, set[str]] = {}
        for case, region in rows.select("case", "region").iter_rows():
            regions.setdefault(case, set()).add(region)
        return regions
