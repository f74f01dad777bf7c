"""All tests of the battery are slow; what they count goes into one file of figures."""

import json
import os
from pathlib import Path

import pytest

from harness.ground import locks
from tests.support.battery import Figures

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the battery's tests as slow."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Note counts under the test's name in the file that WORKLOGS_BATTERY_RESULTS names, if any."""
    name = f"{request.path.stem.removeprefix('test_')}.{request.node.name.removeprefix('test_')}"

    def note(**counts: float) -> None:
        if not (results := os.environ.get("WORKLOGS_BATTERY_RESULTS")):
            return
        file = Path(results)
        lock = locks.wait_for(Path(f"{file}.lock"))
        known = json.loads(file.read_text()) if file.exists() else {}
        known[name] = counts
        file.write_text(json.dumps(dict(sorted(known.items())), indent=2) + "\n")
        locks.free(lock)

    return note
