"""How much of this machine a run may use: cores and memory within affinity and control group."""

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def cores() -> int:
    """Return the number of cores that this process may use: its affinity, within its quota."""
    quotas = [_quota(folder) for folder in _folders()]
    limits = [quota for quota in quotas if quota is not None]
    return max(1, min([len(os.sched_getaffinity(0)), *map(math.ceil, limits)]))


def memory() -> int:
    """Return the bytes of memory that this process may use: the machine's, within its limit."""
    limits = [_number(folder / "memory.max") for folder in _folders()]
    limits.append(_number(_CGROUPS / "memory/memory.limit_in_bytes"))
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *(int(limit) for limit in limits if limit is not None)])


def available_memory() -> int:
    """Return the bytes of memory that nobody uses now, within the limit of ``memory``."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        free = next(line for line in lines if line.startswith("MemAvailable:"))
        return min(memory(), int(free.split()[1]) * 1024)
    return memory()


def _folders() -> Iterator[Path]:
    """Yield the folders of our control group (version 2) and of those around it."""
    yield _CGROUPS
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::/"):
                inner = Path(line.removeprefix("0::/"))
                yield from (_CGROUPS / part for part in (inner, *inner.parents[:-1]))


def _quota(folder: Path) -> float | None:
    """Return the cores of a group's ``cpu.max`` ("quota period" in µs), None without a limit."""
    with contextlib.suppress(OSError, ValueError):
        quota, period = (folder / "cpu.max").read_text().split()
        return float(quota) / float(period)
    return None


def _number(path: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError):
        return float(path.read_text())
    return None
