"""The folders that a server was given: which paths lie in them, links and ``..`` resolved."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness.ground.errors import UsageError


class Folders:
    """The folders that may be read; UsageError if one of them is no folder.

    A check holds for the files as they lie there now: whoever may write in the folders can put a
    link there afterwards.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        for folder in folders:
            if not folder.is_dir():
                remedy = "name folders that hold captures, runs or reports"
                raise UsageError("no such folder", where=folder, remedy=remedy)
        self._folders = tuple(folder.resolve() for folder in folders)

    def subject(self, text: str) -> str:
        """Return the subject that ``text`` names, by its absolute path: PATH or PATH:CASE.VARIANT.

        A relative path is looked for in each folder. Raises UsageError if nothing is there, if the
        path leads out of the folders, or if the run, report or folder has a link that does.
        """
        path = self._path(text)
        name, _, cell = text.rpartition(":")
        folder = self._path(name) if name else None
        if folder and folder.is_dir() and not (path and path.exists()):
            self._check_links(folder)
            return f"{folder}:{cell}"
        if path is None:
            raise self._outside(text)
        if not path.exists():
            remedy = f"paths begin at {self._listed()}"
            raise UsageError("no such file or folder", where=text, remedy=remedy)
        if path.is_dir():
            self._check_links(path)
        return str(path)

    def _path(self, text: str) -> Path | None:
        """Return the path that ``text`` names, None if it leads out of the folders."""
        try:
            candidates = [(folder / text).resolve() for folder in self._folders]
            inside = [path for path in candidates if self._has(path)]
            found = next((path for path in inside if path.exists()), None)
        except (OSError, RuntimeError, ValueError) as error:  # a loop of links, a null byte
            raise UsageError("no usable path", where=text) from error
        return found or (inside[0] if inside == candidates else None)

    def _has(self, path: Path) -> bool:
        return any(path.is_relative_to(folder) for folder in self._folders)

    def _outside(self, where: object) -> UsageError:
        what = "outside of the folders that this server may read"
        return UsageError(what, where=where, remedy=f"they are {self._listed()}")

    def _listed(self) -> str:
        return ", ".join(map(str, self._folders))

    def _check_links(self, folder: Path) -> None:
        """Raise UsageError if a link that a reader of this folder may follow leads out."""
        whole = (folder / "run.json").exists() or (folder / "evidence").exists()
        for link in _links(folder, whole=whole):
            try:
                inside = self._has(link.resolve())
            except (OSError, RuntimeError):
                inside = False
            if not inside:
                raise self._outside(link)


def _links(folder: Path, *, whole: bool) -> Iterator[Path]:
    """Yield the links in a folder; ``whole``: at any depth, also behind links to folders."""
    seen: set[str] = set()
    for at, folders, names in os.walk(folder, followlinks=True):
        for name in (*folders, *names):
            if (path := Path(at, name)).is_symlink():
                yield path
        seen.add(os.path.realpath(at))
        folders[:] = [
            name for name in folders if whole and os.path.realpath(Path(at, name)) not in seen
        ]
