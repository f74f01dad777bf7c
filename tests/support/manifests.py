"""A small problem's manifest, and a problem's folder that holds it."""

import re
from pathlib import Path

from harness.problem.model import BoundClaim, Problem

GOOD = """\
title: A title
summary: A summary
environments:
  plain: {}
baseline: slow
variants:
  slow: {label: Slow, environment: plain}
  fast: {label: Fast, environment: plain}
cases:
  small: {label: Small}
captures:
  timing: {}
metrics:
  time: {label: time, unit: ms, capture: timing, sample: wall_time}
claims:
  - id: faster
    statement: Fast is faster.
    metric: time
    of: {variant: fast, case: small}
    over: {variant: slow}
    bound: {below: 1}
"""


TAKE_FAST = """\
  - id: take-fast
    kind: advice
    statement: Take fast.
    metric: time
    take: fast
    instead_of: slow
"""
"""The beginning of an advice among the claims of GOOD; `at` and `holds_for` have to follow."""


def written(tmp_path: Path, text: str, given: str | None = None) -> Path:
    """Write a problem 9 with this manifest and return its folder.

    ``given`` is its script; without it, a script that makes what the metrics read.
    """
    folder = tmp_path / "9-example"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "problem.yaml").write_text(text, encoding="utf-8")
    made = re.findall(r"\b(?:sample|fact|per|region): *([\w.-]+)", text)
    script = "".join(f"cell.fact({name!r}, 1)\n" for name in made) if given is None else given
    if not (folder / "repro.py").exists() or given is not None:
        (folder / "repro.py").write_text(script, encoding="utf-8")
    return folder


def bound_claims(problem: Problem) -> list[BoundClaim]:
    """Return a problem's claims of kind bound."""
    return [claim for claim in problem.claims if isinstance(claim, BoundClaim)]
