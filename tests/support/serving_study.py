"""Where problem 9 lies."""

from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "9-serving"
