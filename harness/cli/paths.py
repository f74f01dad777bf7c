"""Where the checkout keeps things."""

from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PROBLEMS = CHECKOUT / "problems"
RUNS = CHECKOUT / "runs"
REPORTS = CHECKOUT / "reports"
CAPTURES = CHECKOUT / ".captures"
"""Captures that reports keep outside git, by content."""
