"""Whatever becomes of a file that the harness wrote: read, or refused in one line, in no time.

Every round damages one file, has it read by what commands call, and puts it back. An exception that
is no HarnessError, a line too long, ten seconds or 2 GB are a failure.
"""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.cli import judgement
from harness.evidence.subject import Folder
from harness.extract import door
from harness.ground import files, json_text
from harness.report import index, publish, recorded
from tests.support import damage, own_files
from tests.support.battery import Figures, part, rounds, seeded
from tests.support.evidence_folders import vouch
from tests.support.own_files import OwnFiles
from tests.support.own_readers import is_read, readers

SEED = seeded(20)
MOST_MEMORY = 2 << 30


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> OwnFiles:
    return own_files.made(tmp_path_factory.mktemp("own"))


@contextmanager
def damaged(path: Path, data: bytes) -> Iterator[None]:
    """Put ``data`` in place of a file for a while."""
    whole = path.read_bytes()
    path.write_bytes(data)
    try:
        yield
    finally:
        path.write_bytes(whole)


@pytest.fixture(autouse=True)
def no_earlier_peak() -> None:
    """Forget what earlier tests of this process took (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def peak_memory() -> int:
    """Return the most bytes that this process has held at once in this test.

    The kernel limits the processes that it starts to read tables (harness.ground.confined).
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def test_damaged_bytes(own: OwnFiles, figures: Figures) -> None:
    rng, known = random.Random(SEED), readers(own)
    whole = {path: path.read_bytes() for path in known}
    count, read = rounds(16_000), 0
    for _ in range(count):
        path = rng.choice(list(known))
        with damaged(path, damage.of_bytes(whole[path], rng)):
            read += is_read(known[path])
    assert all(map(is_read, known.values()))
    assert peak_memory() < MOST_MEMORY
    figures(mutants=count, read=read, refused=count - read, peak_mb=peak_memory() >> 20)


def test_wrong_values(own: OwnFiles, figures: Figures) -> None:
    """A record whose seal holds, or that never had a seal, and whose values nobody wrote."""
    rng, known = random.Random(SEED + 1), readers(own)
    count, read = rounds(4_000), 0
    for _ in range(count):
        path = rng.choice(own.records)
        with damaged(path, wrong_record(path, rng)):
            read += is_read(known[path])
    assert all(map(is_read, known.values()))
    figures(mutants=count, read=read, refused=count - read, peak_mb=peak_memory() >> 20)


def wrong_record(path: Path, rng: random.Random) -> bytes:
    """Return a record with wrong values, sealed where they can be."""
    value = damage.of_json(files.read_json(path, unsealed=True), rng)
    try:
        return json_text.sealed(value).encode()
    except ValueError:  # NaN, which a workload may well write; or half of a surrogate pair
        return json.dumps(value).encode()


def test_wrong_values_on_the_page(own: OwnFiles, figures: Figures) -> None:
    """Of a run the claims are judged, of a report the page and the index are written again."""
    rng = random.Random(SEED + 2)
    of_run = [own.run.folder / "run.json", *own.cells]
    standing = {path: path.read_bytes() for path in own.report.rglob("*") if path.is_file()}
    count, read = rounds(80), 0
    for number in range(count):
        path = rng.choice(of_run if number % 2 else [own.evidence / "provenance.json"])
        with damaged(path, wrong_record(path, rng)):
            read += is_read(lambda: judged(own)) if number % 2 else is_read(lambda: shown(own))
        for kept, content in standing.items():
            kept.write_bytes(content)
    assert is_read(lambda: judged(own))
    assert is_read(lambda: shown(own))
    figures(mutants=count, read=read, refused=count - read, peak_mb=peak_memory() >> 20)


def judged(own: OwnFiles) -> object:
    evidence = door.opened(str(own.run.folder))
    assert isinstance(evidence, Folder)
    return judgement.judge(own.problem, evidence)


def shown(own: OwnFiles) -> object:
    publish.render(own.problem, own.report)
    index.write(own.report.parents[1], {})
    return judgement.judge(own.problem, door.report(own.report))


def test_damaged_tables_that_the_provenance_vouches_for(own: OwnFiles, figures: Figures) -> None:
    rng = random.Random(SEED + 3)
    count, read = rounds(100), 0
    known = (own.evidence / "provenance.json").read_bytes()
    for _ in range(count):
        path = rng.choice(own.tables)
        with damaged(path, damage.of_bytes(path.read_bytes(), rng)):
            vouch(own.evidence)
            read += is_read(lambda: door.report(own.report))
        (own.evidence / "provenance.json").write_bytes(known)
    assert is_read(lambda: door.report(own.report))
    assert peak_memory() < MOST_MEMORY
    figures(mutants=count, read=read, refused=count - read, peak_mb=peak_memory() >> 20)


def test_flipped_bits(own: OwnFiles, figures: Figures) -> None:
    """No bit of what was published flips in silence."""
    rng, known = random.Random(SEED + 4), readers(own)
    del known[own.workload]  # gone when its cell is published
    count = rounds(4_000)
    for _ in range(count):
        path = rng.choice(list(known))
        whole = path.read_bytes()
        bit = rng.randrange(8 * len(whole))
        with damaged(path, damage.flipped(whole, bit)):
            assert not is_read(known[path]), f"bit {bit} of {path}"
    assert all(map(is_read, known.values()))
    figures(flips=count, refused=count)


def test_flipped_bits_of_every_file(
    tmp_path_factory: pytest.TempPathFactory, figures: Figures
) -> None:
    """``harness check --deep`` tells each, by its file's name; pages are rendered again."""
    own = own_files.made(tmp_path_factory.mktemp("deep"), drawn=True)
    folders = (own.run.folder, own.report)
    every = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    every = part([*every, *own.stored])
    rng, count = random.Random(SEED + 5), max(rounds(400), len(every))
    for number in range(count):
        path = every[number % len(every)]
        whole = path.read_bytes()
        bit = rng.randrange(8 * len(whole))
        with damaged(path, damage.flipped(whole, bit)):
            assert told(own, path) == [path], f"bit {bit} of {path}"
    assert all(told(own, folder / "any") == [] for folder in folders)
    figures(flips=count, files=len(every), told=count)


def told(own: OwnFiles, path: Path) -> list[Path]:
    """Return the files that differ, of the run or the report that ``path`` belongs to."""
    if path.is_relative_to(own.run.folder):
        checked = recorded.of_run(own.run.folder)
    else:
        checked = recorded.of_report(own.report, own.store, lambda: own.problem)
    return [checked.folder / fault.file for fault in checked.faults]
