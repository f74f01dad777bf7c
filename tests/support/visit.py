"""The first visit that a page shows: a checkout without a study, and a capture beside it."""

import contextlib
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.ground import checkout
from tests.support import transcripts
from tests.support.paths import DATA, ROOT

PAGE = ROOT / "docs" / "first-visit.md"
_HOME = "/home/me/worklogs"
_SIZE = re.compile(r"\d+ kB")


def steady(text: str) -> str:
    """Return a transcript without the size of the page that ``harness view`` writes."""
    return _SIZE.sub("… kB", text)


def transcript(folder: Path, commands: list[str]) -> dict[str, str]:
    """Return what each command prints, run one after another in a checkout in ``folder``."""
    with _checkout(folder):
        return {
            command: transcripts.printed(command).replace(str(folder), _HOME)
            for command in commands
        }


@contextlib.contextmanager
def _checkout(folder: Path) -> Iterator[None]:
    (folder / "problems").mkdir()
    shutil.copy(DATA / "torch" / "streams.json.gz", folder / "trace.json.gz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checkout, "CHECKOUT", folder)
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        patch.chdir(folder)
        yield


def rewritten(page: str, folder: Path) -> str:
    """Return the page with what its commands print now."""
    shown = transcript(folder, list(transcripts.blocks(page)))
    return transcripts.with_printed(page, shown.__getitem__)
