"""Where problem 10 lies."""

from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "10-diffusion-step"
