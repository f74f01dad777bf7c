"""The options that an engine takes, checked before it builds anything."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.ground.errors import UsageError


@dataclass(frozen=True)
class Options:
    """The options of an engine.

    ``python`` is a host's interpreter that has torch, ``wheels`` a folder to install from offline,
    ``image`` a ready image to run in, ``mounts`` host folders to show to containers, read only,
    and ``build_arguments`` are NAME=VALUE for the base image's build.
    """

    python: Path | None = None
    wheels: Path | None = None
    image: str | None = None
    mounts: tuple[Path, ...] = ()
    build_arguments: tuple[str, ...] = ()

    def named_arguments(self) -> dict[str, str]:
        """Return the build arguments by name; UsageError for one that is not NAME=VALUE."""
        arguments = {}
        for argument in self.build_arguments:
            name, equals, value = argument.partition("=")
            if not equals or not name.isidentifier():
                raise UsageError(f"--build-arg {argument!r} is not NAME=VALUE")
            arguments[name] = value
        return arguments

    def __post_init__(self) -> None:
        """Note where ``python`` lies: cells start elsewhere. A link stays, or it is no venv's."""
        if self.python and (found := shutil.which(self.python)):
            object.__setattr__(self, "python", Path(found).absolute())

    def check(self) -> None:
        """Raise UsageError for a path that does not exist or an argument without a value."""
        self.named_arguments()
        if self.python and shutil.which(self.python) is None:
            raise UsageError(
                "--python is no program",
                where=self.python,
                remedy="give the path of an interpreter that has torch",
            )
        if self.wheels and not self.wheels.is_dir():
            raise UsageError("--wheels is no folder", where=self.wheels)
        for mount in self.mounts:
            if not os.path.lexists(mount):
                raise UsageError("--mount does not exist", where=mount)
