"""What a family of findings is: the findings that are read from one kind of view."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from harness.analysis.diagnose.finding import Finding, FindingKind
from harness.evidence.capture import Capture

View = TypeVar("View")
ViewT = TypeVar("ViewT", contravariant=True)


class FindingModule(Protocol[ViewT]):
    """A file that finds one cause in views of one kind."""

    KIND: FindingKind

    def found(self, view: ViewT, /) -> Iterable[Finding]:
        """Yield a finding for each place where the view bears the cause out."""


@dataclass(frozen=True)
class Family(Generic[View]):
    """Findings that are read from one kind of view.

    ``table`` is the evidence table whose rows make a capture one of the family. ``views`` makes
    views of all captures: one view is one thing that is diagnosed. ``healthy`` and ``abstain`` say
    that no finding costs enough, and that this cannot be told.
    """

    name: str
    table: str
    views: Callable[[Sequence[Capture]], Sequence[View]]
    findings: tuple[FindingModule[View], ...]
    healthy: FindingModule[View]
    abstain: FindingModule[View]

    def seen(self, captures: Sequence[Capture]) -> Sequence[View]:
        """Return the views of all captures; none if no capture has rows in ``table``."""
        if not any(capture.tables[self.table].height for capture in captures):
            return ()
        return self.views(captures)

    def kinds(self) -> dict[str, FindingKind]:
        """Return what every finding of the family is, by id, in the order of ``findings``."""
        return {module.KIND.id: module.KIND for module in self.findings}
