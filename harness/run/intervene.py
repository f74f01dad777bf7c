"""Runs a command again and again, as it is and with one thing about its run changed.

The runs alternate, so that what slows the machine for a while slows all of them. The metric is the
process's wall time, or the last number that a pattern finds in what the command prints.
"""

import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.analysis.sensitivity import INTERVENTIONS, Intervention
from harness.analysis.statistics import Rounds
from harness.ground import process
from harness.ground.errors import ToolError, UsageError

BATCH = "{batch}"
"""What stands in the command for the batch size."""
_DEADLINE_S = 3600.0
_SHIM = Path(__file__).parent.parent / "probe" / "slow_calls.c"
_ON_ONE_CORE = (
    "import os, sys; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))});"
    " os.execvp(sys.argv[1], sys.argv[1:])"
)
_SETTINGS = {
    "launch-blocking": {"CUDA_LAUNCH_BLOCKING": "1"},
    "no-caching": {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1"},
    "expandable-segments": {
        # Its name since torch 2.9, and before.
        "PYTORCH_ALLOC_CONF": "expandable_segments:True",
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True",
    },
}
KINDS = {
    "slow-launches": "launches",
    "slow-host": "host",
    "slow-allocation": "allocation",
    "slow-copies": "copies",
}
"""What the library calls the kind of host time that an intervention lengthens."""
_NUMBER = re.compile(r"[-+]?\d[\d_,]*\.?\d*(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Request:
    """A command, and how its runs are measured.

    ``metric``: finds the number in what the command prints, in its first group if it has one; None
    for wall time in seconds. ``is_rate``: more of it is better, so its reciprocal is compared.
    ``batch``: the size that replaces ``{batch}``. ``repeats``: runs of each way.
    """

    argv: tuple[str, ...]
    metric: re.Pattern[str] | None = None
    is_rate: bool = False
    batch: int | None = None
    repeats: int = 5


@dataclass
class Runs:
    """What the runs took, the usual ones and those under each intervention, by round.

    ``lacking``: interventions that were not measured, with the reason.
    """

    usual: dict[int, list[float]] = field(default_factory=dict)
    changed: dict[str, dict[int, list[float]]] = field(default_factory=dict)
    lacking: dict[str, str] = field(default_factory=dict)

    def sides(self, name: str) -> tuple[Rounds, Rounds]:
        """Return the runs under an intervention, and the usual ones."""
        return self.changed[name], self.usual


def measured(
    request: Request, names: Sequence[str], folder: Path, told: Callable[[str], None]
) -> Runs:
    """Run the command once to warm caches, then every way in turn, ``repeats`` times.

    ``folder`` takes logs, and the library that slows calls; ``told`` gets a line before each round.
    Raises UsageError if the command fails as it is, prints no number for its metric, or cannot be
    changed in any of the ways.
    """
    runs = Runs()
    command = _Command(request, folder, runs)
    told(f"warming up: {' '.join(request.argv)}")
    command.usual()
    for name in names:
        if why := command.lacks(name):
            runs.lacking[name] = why
    if len(runs.lacking) == len(names):
        whys = "; ".join(f"{name}: {why}" for name, why in runs.lacking.items())
        raise UsageError(f"no intervention can be made: {whys}")
    for number in range(request.repeats):
        told(f"round {number + 1} of {request.repeats}")
        runs.usual[number] = [command.usual()]
        for name in names:
            if name not in runs.lacking:
                command.change(INTERVENTIONS[name], number)
    return runs


class _Command:
    """The command of a request, which runs in the current folder with all of our environment."""

    def __init__(self, request: Request, folder: Path, runs: Runs) -> None:
        self._request, self._folder, self._runs = request, folder, runs
        self._loaded = folder / "loaded"
        self._loaded.mkdir()
        self._library, self._uncompiled = compiled(folder)

    def usual(self) -> float:
        """Return the metric of a usual run; UsageError if it has none."""
        try:
            return self._value(None)
        except ToolError as error:
            raise UsageError(f"the command fails: {error.what}", where=error.where) from error

    def change(self, intervention: Intervention, number: int) -> None:
        """Keep the metric of a run under an intervention, or why it has none."""
        try:
            value = self._value(intervention.id)
        except ToolError as error:
            self._runs.lacking[intervention.id] = error.what
            self._runs.changed.pop(intervention.id, None)
        else:
            self._runs.changed.setdefault(intervention.id, {})[number] = [value]

    def lacks(self, name: str) -> str:
        """Return why an intervention cannot be made, after a usual run; empty if it can."""
        if name == "double-batch" and self._request.batch is None:
            return f"needs {BATCH} in the command, and --batch"
        if name == "one-core" and len(os.sched_getaffinity(0)) == 1:
            return "there is one core only"
        if name not in KINDS:
            return ""
        words = {
            line for file in self._loaded.iterdir() for line in process.text(file).splitlines()
        }
        if self._uncompiled or "begin" in words:
            return self._uncompiled
        if words & {"no CUPTI", "refused"}:
            return "CUPTI, by which CUDA tells of its calls, is absent or in use"
        return "the command does not use CUDA"

    def _value(self, name: str | None) -> float:
        """Return the metric of one run; ToolError if it fails."""
        log = self._folder / "log"
        argv = self._argv(name)
        environment = self._environment(name)
        done = process.run(argv, cwd=Path.cwd(), env=environment, log=log, deadline_s=_DEADLINE_S)
        if done.status != "ok":
            said = " | ".join(process.tail(log).strip().splitlines()[-3:])
            raise ToolError(f"{done.status}: {said or f'exit {done.returncode}'}", where=argv[0])
        if self._request.metric is None:
            return done.wall_s
        value = last_number(self._request.metric, process.text(log))
        if value is None:
            what = f"prints no positive number for {self._request.metric.pattern!r}"
            raise ToolError(what, where=argv[0])
        return 1 / value if self._request.is_rate else value

    def _argv(self, name: str | None) -> list[str]:
        times = 2 if name == "double-batch" else 1
        size = str(times * (self._request.batch or 0))
        argv = [word.replace(BATCH, size) for word in self._request.argv]
        if name == "one-core":
            return [sys.executable, "-I", "-S", "-c", _ON_ONE_CORE, *argv]
        return argv

    def _environment(self, name: str | None) -> dict[str, str]:
        environment = dict(os.environ) | _SETTINGS.get(name or "", {})
        if self._library:  # in usual runs, too: it costs something itself
            extra = INTERVENTIONS[name].factor - 1 if name in KINDS else 0
            environment |= {
                "CUDA_INJECTION64_PATH": str(self._library),
                "HARNESS_SLOW": f"{KINDS.get(name or '', 'none')}:{extra}",
                "HARNESS_SLOW_LOG": str(self._loaded),
            }
        return environment


def compiled(folder: Path) -> tuple[Path | None, str]:
    """Return the library that slows calls, made in ``folder``; None and the reason without one."""
    library = folder / "slow_calls.so"
    argv = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(_SHIM), "-ldl"]
    try:
        process.output(argv, deadline_s=60)
    except ToolError as error:
        return None, f"no C compiler that works: {error}"
    return library, ""


def last_number(metric: re.Pattern[str], text: str) -> float | None:
    """Return the last positive number that a pattern finds, of its first group if it has one."""
    found = [match.group(1 if metric.groups else 0) or "" for match in metric.finditer(text)]
    numbers = _NUMBER.findall(found[-1]) if found else []
    value = float(numbers[-1].replace(",", "").replace("_", "")) if numbers else 0.0
    return value if value > 0 else None
