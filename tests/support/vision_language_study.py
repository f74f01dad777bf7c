"""Where problem 11 lies."""

from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "11-vision-language"
