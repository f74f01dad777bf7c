"""A workload that attacks whoever opens what it leaves: the script of a cell, and its attacks.

It runs as a cell's ``repro.py`` and imports the standard library alone; the tests import it to know
which attacks a cell makes. Each attack says what the harness has to make of it.
"""

import contextlib
import json
import os
import random
import signal
import socket
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

WANTED = (
    *("workload.json", "log.txt", "export.txt", "cell.json", "output_code.py", "trace.json.gz"),
    *("trace.sqlite", "memory.json.gz", "oom", "run.json"),
)
"""Names that the harness or an engine might open."""

MOST_BYTES = 128 << 20
"""What a cell may leave while it attacks."""

RECORD = b'{"samples": [], "facts": [], "declared": {}, "packages": {}}'


@dataclass(frozen=True)
class Attack:
    """What is made at a path, given the secret's, and under which names.

    ``told`` is what the cell's reason says of it, "" if the cell stays ok.
    """

    make: Callable[[str, str], None]
    told: str
    names: tuple[str, ...] = WANTED


def link(target: str) -> Callable[[str, str], None]:
    """Return the attack of a link to ``target``, or to the host's secret without one."""
    return lambda path, secret: Path(path).symlink_to(target or secret)


def hard_link(path: str, secret: str) -> None:
    """Give the host's secret a second name, or where it cannot be seen, a file of the cell's."""
    with contextlib.suppress(OSError):
        os.link(secret, path)
        return
    Path("source").write_bytes(b"x")
    os.link("source", path)


def bound_socket(path: str, _secret: str) -> None:
    """Leave a socket."""
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(path)


def device(path: str, _secret: str) -> None:
    """Leave a device without an end, where this user may make one; else a FIFO."""
    try:
        os.mknod(path, 0o666 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        os.mkfifo(path)


def regular(path: str, _secret: str) -> None:
    """Leave a file, of interest by its name alone."""
    Path(path).write_bytes(b"left by the workload")


def set_uid(path: str, _secret: str) -> None:
    """Leave a program that runs as this user, whoever starts it."""
    Path(path).write_bytes(b"#!/bin/sh\n")
    Path(path).chmod(0o6777)


def nested(path: str, secret: str) -> None:
    """Leave folders within folders, with links at each level."""
    Path(path).mkdir()
    folder = os.open(path, os.O_RDONLY)
    for _ in range(2000):
        with contextlib.suppress(OSError):
            os.symlink(secret, "link", dir_fd=folder)
        os.mkdir("d", dir_fd=folder)
        inner = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = inner
    os.close(folder)


def folder_of_links(path: str, secret: str) -> None:
    """Leave a folder of links that nobody may write."""
    Path(path).mkdir()
    for name in WANTED:
        Path(path, name).symlink_to(secret)
    Path(path).chmod(0o500)


def swapped(path: str, secret: str) -> None:
    """Let a process of another session swap a file and a link for as long as it can."""
    regular(path, secret)
    if os.fork():
        return
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    until = time.monotonic() + 20
    with contextlib.suppress(OSError):
        while time.monotonic() < until:
            Path("other").symlink_to(secret)
            Path("other").replace(path)
            Path("other").write_bytes(b"x")
            Path("other").replace(path)
    os._exit(0)


def large(path: str, _secret: str) -> None:
    """Write more than a file may hold, and when that fails more than all may hold."""
    with contextlib.suppress(OSError):
        os.truncate(os.open(path, os.O_CREAT | os.O_WRONLY), 1 << 50)
    for number in range(40):
        with Path(f"part{number}").open("wb") as file:
            file.truncate(8 << 20)


def many(path: str, _secret: str) -> None:
    """Leave more files than are taken."""
    for number in range(4200):
        os.close(os.open(f"{path}.{number}", os.O_CREAT | os.O_WRONLY))


def talkative(_path: str, _secret: str) -> None:
    """Print more than a log holds, in no encoding."""
    for _ in range(300):
        sys.stdout.buffer.write(b"\x1b[2J\xff\x00" * 16384)


ODD_NAMES = tuple(
    os.fsdecode(name)
    for name in (
        *(b"a\nb", b"\x1b[31mred", b"-rf", b".hidden", b"\xff\xfe", b"x" * 255, b"a b"),
        *("\u202ereversed".encode(), "\ufeffmark".encode(), b"$(reboot)", b"`id`", b"..more"),
        *(b"<b>", b"[a](b)", b"a|b", b"..."),
    )
)
FILE, ODD = "workload_data.bin", "(no plain name)"
ATTACKS = {
    "link to the secret": Attack(link(""), "(a link)"),
    "link to a file of the system": Attack(link("/etc/passwd"), "(a link)"),
    "link that leads up": Attack(link("../../../../run.json"), "(a link)"),
    "link to itself": Attack(link("workload.json"), "(a link)", ("workload.json",)),
    "link without an end": Attack(link("/dev/zero"), "(a link)"),
    "link to nothing": Attack(link("/nowhere/at/all"), "(a link)"),
    "link to a folder": Attack(link("/"), "(a link)"),
    "hard link": Attack(hard_link, "(a hard link)"),
    "FIFO": Attack(lambda path, _: os.mkfifo(path), "(a FIFO)"),
    "socket": Attack(bound_socket, "(a socket)"),
    "device": Attack(device, "(a "),
    "name of the harness": Attack(regular, "(a name of", ("log.txt", "cell.json", "export.txt")),
    "odd name": Attack(regular, ODD, ODD_NAMES),
    "set-uid program": Attack(set_uid, "", (FILE,)),
    "nested folders": Attack(nested, "cannot be looked into", ("folder",)),
    "folder of links": Attack(folder_of_links, "", ("folder",)),
    "swapping process": Attack(swapped, "", (FILE,)),
    "large files": Attack(large, "its output is more than 0.125 GiB", (FILE,)),
    "many files": Attack(many, "its output is more than 4096 files", (FILE,)),
    "log that fills": Attack(talkative, "", (FILE,)),
}
EITHER = "swapping process"
"""An attack that leaves a regular file or a link, as it happens."""

ALONE = {"nested folders", EITHER, "large files", "many files"}
"""Attacks after which the harness takes nothing, or nobody knows what is left."""


def chosen(seed: int) -> list[tuple[str, str]]:
    """Return the attacks of a cell and the name that each uses, no name twice."""
    chance = random.Random(seed)
    names = list(ATTACKS)
    first = names[seed % len(names)]
    others = [name for name in names if name not in ALONE and name != first]
    wanted = [first, *chance.sample(others, 0 if first in ALONE else chance.randint(0, 3))]
    used: set[str] = set()
    attacks = []
    for attack in wanted:
        free = [name for name in ATTACKS[attack].names if name not in used]
        if free:
            used.add(name := chance.choice(free))
            attacks.append((attack, name))
    return attacks


def main() -> None:
    """Attack as the cell's seed says, and leave a good record beside it."""
    cell = json.loads(os.environ["HARNESS_CELL"])
    os.chdir(cell["out"])
    Path("workload.json").write_bytes(RECORD)
    for attack, name in chosen(cell["params"]["seed"]):
        Path(name).unlink(missing_ok=True)
        ATTACKS[attack].make(name, cell["params"]["secret"])


if __name__ == "__main__":
    main()
