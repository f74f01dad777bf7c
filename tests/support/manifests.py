"""A small problem's manifest, and a problem's folder that holds it."""

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


def written(tmp_path: Path, text: str) -> Path:
    """Write a manifest into the folder of problem 9 and return that folder."""
    folder = tmp_path / "9-example"
    folder.mkdir(exist_ok=True)
    (folder / "problem.yaml").write_text(text, encoding="utf-8")
    return folder


def bound_claims(problem: Problem) -> list[BoundClaim]:
    """Return a problem's claims of kind bound."""
    return [claim for claim in problem.claims if isinstance(claim, BoundClaim)]
