"""Who made something that can outlive its maker: a half-written folder, or a container.

The maker's name goes into the name or the label of what it makes, so that whoever finds it can tell
whether the maker still works on it.
"""

import hashlib
import os
import re
from pathlib import Path

NAME = re.compile(r"([0-9a-f]{8})-([0-9]+)-([0-9]+)")


def name() -> str:
    """Return this process's name: machine, process number, and start time in clock ticks."""
    return f"{_machine()}-{os.getpid()}-{start(os.getpid())}"


def has_ended(maker: str) -> bool:
    """Return whether the process of that name has ended; False where this machine cannot tell.

    It cannot where the maker ran on another machine, in another container, or before a restart.
    """
    match = NAME.fullmatch(maker)
    return match is not None and match[1] == _machine() and str(start(int(match[2]))) != match[3]


def start(process: int) -> int:
    """Return when a process started, in clock ticks since boot; 0 if it has ended (proc(5))."""
    try:
        fields = Path(f"/proc/{process}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return 0
    return 0 if fields[0] in (b"Z", b"X") else int(fields[19])


def _machine() -> str:
    """Return a name of this boot of this machine and of the processes that are seen from here."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        seen = str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        boot, seen = "", ""  # no Linux: every maker's start is 0, so none has ended
    return hashlib.sha256(f"{boot}{seen}".encode()).hexdigest()[:8]
