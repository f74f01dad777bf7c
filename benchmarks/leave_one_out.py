"""Leave-one-out: what the diagnosis says of specimens by thresholds that were set without them.

    python benchmarks/leave_one_out.py [REPORT]

REPORT is a report of problem 6, by default that of the H200. A threshold of the diagnosis stands in
the code with its source. Here each is set anew by the specimens alone, all but one: to the middle,
by factor, of the values between which every other specimen keeps its name and every other twin
stays without one. Where the others bound it on one side only, or on neither within a factor of
``FAR``, it keeps its value: then no specimen set it. The specimen left out and its twin are then
diagnosed with all thresholds set so.
"""

import argparse
import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from harness.analysis.diagnose import kernel_thresholds, memory_thresholds, thresholds
from harness.evidence.capture import Capture
from harness.ground import checkout
from harness.report import own_sections
from harness.report.sections.diagnosis import profiled

grading = own_sections.load(checkout.CHECKOUT / "problems" / "6-bottleneck-zoo").grading
MODULES = (thresholds, kernel_thresholds, memory_thresholds)
FAR = 2.0
"""A threshold is tried between its value divided and multiplied by this."""
STEPS = 16
"""Places between a threshold and ``FAR`` times it, equal in their factor."""

Name = str
"""A threshold, as ``module.NAME``."""


class Graded(Protocol):
    """A case, and whether the diagnosis is right about it by the thresholds that stand."""

    @property
    def case(self) -> str:
        """Return the case's name."""

    @property
    def right(self) -> bool:
        """Return whether the diagnosis is right."""


@dataclass(frozen=True)
class Specimen:
    """A case of the zoo: what was planted, and the captures of both twins."""

    case: str
    planted: str
    sick: tuple[Capture, ...]
    healthy: tuple[Capture, ...]

    @property
    def right(self) -> bool:
        """Return whether the diagnosis names the specimen, and nothing in its twin."""
        answer = grading.graded(self.case, self.planted, self.sick, self.healthy)
        return answer.right and not answer.false_alarm


@dataclass(frozen=True)
class Range:
    """The factors of a threshold between which a specimen stays right.

    None where it stays so as far as ``FAR``.
    """

    low: float | None
    high: float | None


@dataclass(frozen=True)
class LeftOut:
    """A specimen diagnosed with thresholds that were set without it.

    ``moved``: by what factor each threshold that the others bound was set anew.
    """

    case: str
    right: bool
    moved: Mapping[Name, float]


def known() -> dict[Name, float]:
    """Return the thresholds: every number above 0 that stands in upper case in ``MODULES``."""
    return {
        f"{module.__name__}.{name}": float(value)
        for module in MODULES
        for name, value in vars(module).items()
        if name.isupper() and isinstance(value, int | float) and value > 0
    }


@contextlib.contextmanager
def scaled(factors: Mapping[Name, float]) -> Iterator[None]:
    """Multiply thresholds by factors while the block runs."""
    modules = {module.__name__: module for module in MODULES}
    places = [(modules[name.rpartition(".")[0]], name.rpartition(".")[2]) for name in factors]
    before = [getattr(module, name) for module, name in places]
    try:
        for (module, name), value, factor in zip(places, before, factors.values(), strict=True):
            setattr(module, name, type(value)(value * factor))  # a number of things stays whole
        yield
    finally:
        for (module, name), value in zip(places, before, strict=True):
            setattr(module, name, value)


def range_of(specimen: Graded, name: Name) -> Range:
    """Return the range of a threshold in which a specimen that is right stays right."""
    return Range(_limit(specimen, name, up=False), _limit(specimen, name, up=True))


def left_out(specimens: Sequence[Graded]) -> list[LeftOut]:
    """Diagnose each specimen with thresholds that were set by the others that are right."""
    own = {
        each.case: {name: range_of(each, name) for name in known()}
        for each in specimens
        if each.right
    }
    results = []
    for specimen in specimens:
        others = [bounds for case, bounds in own.items() if case != specimen.case]
        moved = {name: _middle([bounds[name] for bounds in others]) for name in known()}
        factors = {name: factor for name, factor in moved.items() if factor is not None}
        with scaled(factors):
            results.append(LeftOut(specimen.case, specimen.right, factors))
    return results


def specimens_of(report: Path) -> list[Specimen]:
    """Return the specimens of which a report of problem 6 holds both twins' captures."""
    from harness.problem import manifest
    from harness.report import publish

    study = manifest.find(checkout.problems(), report.parent.name)
    metrics = publish.page_of(study, report).metrics
    found = []
    for case in study.cases:
        sick, healthy = (
            tuple(profiled(study, metrics, variant, case))
            for variant in (study.baseline, grading.twin_of(study))
        )
        planted = grading.planted(study, case)
        if planted and sick and healthy:
            found.append(Specimen(case, planted, sick, healthy))
    return found


def main() -> None:
    """Print how many specimens are still named, which are not, and what bounds the thresholds."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = checkout.reports() / "6-bottleneck-zoo" / "nvidia-h200"
    parser.add_argument("report", type=Path, nargs="?", default=default)
    specimens = specimens_of(parser.parse_args().report)
    results = left_out(specimens)
    named = sum(each.right for each in results)
    print(f"{named} of {len(results)} specimens are named by thresholds set without them")
    for each in results:
        if not each.right:
            print(f"  not: {each.case}")
    print("thresholds that the specimens bound on both sides, and the factors they are set to:")
    for name in known():
        factors = [each.moved[name] for each in results if name in each.moved]
        if factors:
            print(f"  {name.rpartition('.')[2]:24} {min(factors):.2f} to {max(factors):.2f}")


def _limit(specimen: Graded, name: Name, *, up: bool) -> float | None:
    """Return the last factor, from 1 on, at which a specimen is right; None if ``FAR`` is one."""

    def factor(step: int) -> float:
        return math.pow(FAR, (step if up else -step) / STEPS)

    def right(step: int) -> bool:
        with scaled({name: factor(step)}):
            return specimen.right

    if right(STEPS):
        return None
    good, bad = 0, STEPS
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if right(middle) else (good, middle)
    return factor(good)


def _middle(bounds: Sequence[Range]) -> float | None:
    """Return the middle of what all ranges have in common, None where that has no two ends."""
    lows = [each.low for each in bounds if each.low is not None]
    highs = [each.high for each in bounds if each.high is not None]
    return math.sqrt(max(lows) * min(highs)) if lows and highs else None


if __name__ == "__main__":
    main()
