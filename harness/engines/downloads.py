"""What setting an engine up downloads: packages of locks, by their size, and images by name."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from harness.ground.checkout import CHECKOUT

SIZES = CHECKOUT / "requirements" / "downloads.json"
"""Bytes of the wheels of each lock, by its digest: tests/support/download_sizes.py writes them."""


@dataclass(frozen=True)
class Downloads:
    """Locks whose packages are not here yet, single requirements, and images by name.

    ``into`` is where they go: a folder, or the name of a store.
    """

    locks: tuple[Path, ...] = ()
    packages: tuple[str, ...] = ()
    images: tuple[str, ...] = ()
    into: str = ""

    def __bool__(self) -> bool:
        """Return whether there is anything to download."""
        return bool(self.locks or self.packages or self.images)

    def known_bytes(self) -> int | None:
        """Return the bytes of all packages, None where the size of some is not known."""
        known = json.loads(SIZES.read_text(encoding="utf-8")) if SIZES.is_file() else {}
        sizes = [known.get(key) for key in (*map(digest, self.locks), *self.packages)]
        return None if None in sizes else sum(filter(None, sizes))


def digest(lock: Path) -> str:
    """Return what a lock's size is kept under: a changed lock has none until it is measured."""
    return hashlib.sha256(lock.read_bytes()).hexdigest()[:12]


def in_words(wanted: Downloads) -> str:
    """Return the downloads, their size and their folder in a line; "" for nothing."""
    if not wanted:
        return ""
    names = [path.stem for path in wanted.locks] + list(wanted.packages)
    size = wanted.known_bytes()
    how_much = "packages of unknown size" if size is None else f"{size / 1e9:.2f} GB of packages"
    parts = [f"{how_much} ({', '.join(names)})"] if names else []
    if wanted.images:
        parts.append(f"{_listed(wanted.images)} (as large as its registry says)")
    return f"downloads first, once: {', and '.join(parts)} → {wanted.into}"


def _listed(images: Iterable[str]) -> str:
    return "the images " + ", ".join(image.partition("@")[0] for image in images)
