"""Where a cell's process lives: one file, and one function and line here, for each engine."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.engines.engine import Engine


def _local() -> "type[Engine]":
    from harness.engines.local import Local

    return Local


def _docker() -> "type[Engine]":
    from harness.engines.container import Docker

    return Docker


def _podman() -> "type[Engine]":
    from harness.engines.container import Podman

    return Podman


def _apptainer() -> "type[Engine]":
    from harness.engines.apptainer import Apptainer

    return Apptainer


ENGINES: "dict[str, Callable[[], type[Engine]]]" = {
    "local": _local,
    "docker": _docker,
    "podman": _podman,
    "apptainer": _apptainer,
}
"""The name after ``--engine`` to what imports its class: ``--help`` shows the names alone."""
