"""A user's profile of a cluster: ``clusters/NAME.toml``."""

import tomllib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from harness.ground import json_text
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import UsageError
from harness.problem.fields import Device

_FOLDER = "clusters"


class Table(BaseModel):
    """The base of every table of a profile: immutable, strictly typed, without unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Slurm(Table):
    """Options of ``sbatch`` for each job, under SLURM's names.

    ``time`` is in minutes, ``mem_gb`` in GiB; ``options`` are further ones. ``setup`` are shell
    lines that a job runs first. A job that reaches its time limit is queued again ``requeues``
    times, and gets its signal ``signal_delay_s`` before the limit.
    """

    time: Annotated[int, Field(ge=1)] = 60
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    gres: str | None = None
    constraint: str | None = None
    nodelist: str | None = None
    exclude: str | None = None
    cpus_per_task: Annotated[int, Field(ge=1)] | None = None
    mem_gb: Annotated[int, Field(ge=1)] | None = None
    array_parallelism: Annotated[int, Field(ge=1)] = 256
    requeues: Annotated[int, Field(ge=0, le=100)] = 0
    signal_delay_s: Annotated[int, Field(ge=10)] = 90
    setup: list[str] = []
    options: dict[str, str | int | bool] = {}


class Profile(Table):
    """A cluster: the model of its GPUs, and how many jobs a run becomes at most.

    ``gpu`` is the name that the driver gives the GPU, None where jobs run on a CPU. ``gpus`` is how
    many a job gets.
    """

    gpu: str | None = None
    gpus: Annotated[int, Field(ge=1, le=64)] = 1
    jobs: Annotated[int, Field(ge=1, le=1000)] = 8
    slurm: Slurm

    @property
    def device(self) -> Device:
        """Return the device that jobs run on."""
        return "cuda" if self.gpu else "cpu"


def load(name: str) -> Profile:
    """Return the profile of that name in ``clusters/``, or in the file of that path.

    Raises UsageError that names the file and the key for a profile that cannot be used.
    """
    path = CHECKOUT / _FOLDER / f"{name}.toml"
    if name.endswith(".toml") or not path.is_file():
        path = Path(name)
    if not path.is_file():
        there = ", ".join(sorted(each.stem for each in (CHECKOUT / _FOLDER).glob("*.toml")))
        remedy = f"there are: {there}; or give the path of a .toml file"
        raise UsageError(f"no cluster {name!r}", remedy=remedy)
    try:
        return Profile.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"no TOML: {error}", where=path) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = json_text.path(first["loc"])
        said = first["msg"].removeprefix("Value error, ")
        raise UsageError(f"{key}: {said}" if key else said, where=path) from None
