"""The interpreter with torch that the local engine builds for a CPU."""

import pytest

from tests.support.paths import ROOT

PYTHON = next(ROOT.glob(".envs/torch-cpu-*/bin/python"), None)
needs_torch = pytest.mark.skipif(
    PYTHON is None, reason="needs the CPU interpreter of the local engine (.envs)"
)
