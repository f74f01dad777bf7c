"""What a process may use of a machine: its affinity and the limits of its control group."""

import os
from pathlib import Path

import pytest

from harness.machine import room


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the control groups, without a limit."""
    monkeypatch.setattr(room, "_CGROUPS", tmp_path)
    return tmp_path


def test_without_limits_the_affinity_and_the_machines_memory_count(groups: Path) -> None:
    assert room.cores() == len(os.sched_getaffinity(0))
    assert room.memory() == os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert 0 < room.available_memory() <= room.memory()
    (groups / "cpu.max").write_text("max 100000\n")
    (groups / "memory.max").write_text("max\n")
    assert room.cores() == len(os.sched_getaffinity(0))


@pytest.mark.usefixtures("groups")
def test_a_process_bound_to_one_core_has_one() -> None:
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(before)})
        assert room.cores() == 1
    finally:
        os.sched_setaffinity(0, before)


def test_a_groups_limits_count(groups: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(64)))
    (groups / "cpu.max").write_text("1550000 100000\n")
    (groups / "memory.max").write_text("1048576\n")
    assert room.cores() == 16
    assert room.memory() == room.available_memory() == 1 << 20


def test_version_1_of_control_groups_limits_memory_too(groups: Path) -> None:
    (groups / "memory").mkdir()
    (groups / "memory" / "memory.limit_in_bytes").write_text("2097152\n")
    assert room.memory() == 2 << 20
