"""Where problem 12 lies."""

from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "12-split-a-model"
