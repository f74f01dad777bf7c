"""Where problem 7 lies."""

from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "7-tensor-parallel-decode"
