"""Writes requirements/downloads.json: the bytes that installing each lock downloads.

``UV=/path/to/uv python -m tests.support.download_sizes``, with a network. Of several wheels of a
package for this platform the largest counts; torch for the CPU is a wheel in the folder given.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from harness.engines.downloads import SIZES, digest
from harness.engines.local import CPU_TORCH
from tests.support.paths import ROOT

_PLATFORM = ("--python-platform", "x86_64-manylinux_2_28", "--python-version", "3.11")
_FOLDERS = ("requirements", "docker", "problems/*/env")


def locks() -> list[Path]:
    """Return the locks of the repository."""
    return sorted(path for folder in _FOLDERS for path in ROOT.glob(f"{folder}/*.lock"))


def size(lock: Path) -> int:
    """Return the bytes of the wheels of a lock, of its archives where a package has no wheel."""
    pins = re.findall(r"^[\w.-]+(?:\[.*\])?==.*?(?= *\\?$)", lock.read_text(), re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        asked, answer = Path(folder, "asked.txt"), Path(folder, "pylock.toml")
        asked.write_text("\n".join(pins) + "\n")
        uv = os.environ.get("UV", "uv")
        argv = [uv, "pip", "compile", "--quiet", "--no-deps", *_PLATFORM, "--format=pylock.toml"]
        subprocess.run(
            [*argv, str(asked), "-o", str(answer)], check=True, stdout=subprocess.DEVNULL
        )
        packages = tomllib.loads(answer.read_text())["packages"]
    files = [package.get("wheels") or [package["sdist"]] for package in packages]
    return sum(max(each["size"] for each in of_package) for of_package in files)


def main(torch: Path) -> None:
    """Write the sizes; ``torch`` is the folder that holds torch's wheel for the CPU."""
    (wheel,) = torch.glob(f"{CPU_TORCH.replace('==', '-')}+cpu-cp311-*x86_64.whl")
    sizes = {CPU_TORCH: wheel.stat().st_size} | {digest(lock): size(lock) for lock in locks()}
    SIZES.write_text(json.dumps(sizes, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
