"""The families of findings: what each is found in, and the files that find it.

To add a finding, write ``<family>/<id with _ for ->.py`` with ``KIND``, a
:class:`~harness.analysis.diagnose.finding.Kind`, and ``found(view)``, a pure function that yields
``KIND.finding(…)`` for each place where the view bears the cause out; then add the file's name to
``FINDINGS`` in the family's ``__init__.py``. A finding reads its family's view and nothing else.
"""

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from harness.analysis.diagnose.finding import Finding, Kind
from harness.evidence.capture import Capture
from harness.ground.references import resolve


class FindingModule(Protocol):
    """A file that finds one cause."""

    KIND: Kind
    found: Callable[[Any], Iterable[Finding]]


@dataclass(frozen=True)
class Family:
    """Findings that are read from one kind of view.

    ``table`` is the evidence table whose rows make a capture one of the family. ``views`` names the
    function that makes views of all captures: one view is one thing that is diagnosed. With
    ``by_launch`` a view has ``name``, ``launch``, and ``share``, its fraction of the time of all
    launches. The package holds ``healthy.py`` and ``abstain.py`` with ``found(view)`` too: what is
    said where no finding costs enough, and where that cannot be told.
    """

    name: str
    table: str
    views: str
    by_launch: bool = False

    @property
    def package(self) -> str:
        """Return the package that holds the family's files."""
        return f"harness.analysis.diagnose.{self.name}"

    def modules(self) -> tuple[FindingModule, ...]:
        """Return the files of the family's findings, in the order of its registry."""
        names: tuple[str, ...] = resolve(f"{self.package}:FINDINGS")
        return tuple(self.module(name) for name in names)

    def module(self, name: str) -> FindingModule:
        """Return one file of the family."""
        return cast("FindingModule", importlib.import_module(f"{self.package}.{name}"))

    def seen(self, captures: Sequence[Capture]) -> Sequence[Any]:
        """Return the views of all captures; none if no capture has rows in ``table``."""
        if not any(capture.tables[self.table].height for capture in captures):
            return ()
        views: Sequence[Any] = resolve(self.views)(captures)
        return views


FAMILIES = (
    Family("timeline", "gpu_ops", "harness.analysis.diagnose.timeline_view:views"),
    Family("kernel", "counters", "harness.analysis.diagnose.kernel_view:views", by_launch=True),
    Family("memory", "memory_pools", "harness.analysis.diagnose.memory_view:views"),
)


def kinds() -> dict[str, Kind]:
    """Return what every finding of every family is, by id, in the order of the registries."""
    return {module.KIND.id: module.KIND for family in FAMILIES for module in family.modules()}
