"""Where what tests compile stays from run to run and is shared by workers.

Whoever compiles names each file after the content that it is made of, so nothing here gets stale;
the folder is ignored by git and may be deleted at any time.
"""

import hashlib
import shutil
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from tests.support.paths import ROOT

FOLDER = ROOT / ".cache" / "tests"


@cache
def of_compiler(program: str) -> Path:
    """Return the folder for what one version of a compiler makes."""
    place = shutil.which(program)
    assert place is not None, f"{program} is not on PATH"
    version = subprocess.run([place, "--version"], check=True, capture_output=True).stdout
    folder = FOLDER / f"{Path(place).name}-{hashlib.sha256(version).hexdigest()[:12]}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def key(argv: Sequence[str], sources: Sequence[Path]) -> str:
    """Return a name for what a compiler makes with these arguments of these files."""
    digest = hashlib.sha256("\0".join(argv).encode())
    for source in sources:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:24]
