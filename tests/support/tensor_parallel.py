"""Where problem 7 lies, and the interpreter with torch that the local engine builds for a CPU."""

from tests.support.paths import ROOT

FOLDER = ROOT / "problems" / "7-tensor-parallel-decode"
PYTHON = next(ROOT.glob(".envs/torch-cpu-*/bin/python"), None)
