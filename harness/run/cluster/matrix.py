"""Problems × clusters × software: each combination a run of its own, all of them in one index.

runs/matrix/<time>/index.json   the run of each combination, written before its cells run
runs/matrix/<time>/README.md    the same with the verdicts, at the end
"""

import threading
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from harness.engines.options import Options
from harness.evidence.record import Many, Record, read
from harness.ground import checkout, files, json_text
from harness.ground.errors import HarnessError, UsageError
from harness.problem.plan import Cell, Selected
from harness.run import session as here
from harness.run.cluster import profile, session, slurm
from harness.run.cluster.profile import Profile, Table
from harness.run.session import Request
from harness.store.run_folder import Run

HERE = "here"
"""In place of a cluster's name: this machine."""

INDEX = "index.json"

Tell = Callable[["Combination", Cell, str, float], None]
"""Called for each cell as ``harness.run.execute.Notify`` is, with its combination."""


class Software(Table):
    """One set of software: the options of ``harness run`` that choose it."""

    engine: str = "auto"
    python: str | None = None
    wheels: str | None = None
    image: str | None = None
    mounts: Many[str] = ()
    build_arguments: Many[str] = ()

    def options(self) -> Options:
        """Return the engine's options."""
        return Options(
            Path(self.python) if self.python else None,
            Path(self.wheels) if self.wheels else None,
            self.image,
            tuple(map(Path, self.mounts)),
            tuple(self.build_arguments),
        )


class Matrix(Table):
    """The contents of a matrix file: problems, clusters by their profiles, and sets of software."""

    problems: Annotated[list[int | str], Field(min_length=1)]
    on: Annotated[Many[str], Field(min_length=1)] = (HERE,)
    software: Annotated[dict[str, Software], Field(min_length=1)] = Field(
        default_factory=lambda: {"default": Software()}
    )
    full: bool = False
    rounds: int | None = None


class Entry(Record):
    """One combination in the index; ``run`` is its run's folder, empty before it has one."""

    problem: str
    on: str
    software: str
    run: str = ""


class Index(Record):
    """The combinations of a matrix, in its order."""

    entries: Many[Entry]


@dataclass(frozen=True)
class Combination:
    """One combination that was understood: a session of this machine, or a cluster's request."""

    entry: Entry
    asked: here.Session | session.Asked

    @property
    def name(self) -> str:
        """Return what tells it from the others."""
        return f"{self.entry.problem} on {self.entry.on}, {self.entry.software}"


def load(path: Path) -> Matrix:
    """Return the matrix that a file describes; UsageError that names the file and the key."""
    try:
        return Matrix.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        remedy = "docs/clusters.md has an example"
        raise UsageError(f"not readable: {error.strerror}", where=path, remedy=remedy) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"no TOML: {error}", where=path) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise UsageError(f"{json_text.path(first['loc'])}: {first['msg']}", where=path) from None


def understood(matrix: Matrix, resumed: Path | None = None) -> list[Combination]:
    """Check every combination before any runs; ``resumed`` is an earlier matrix's folder."""
    known = read(Index, resumed / INDEX).entries if resumed else ()
    runs = {(entry.problem, entry.on, entry.software): entry.run for entry in known}
    profiles = {name: profile.load(name) for name in matrix.on if name != HERE}
    if any(each.slurm for each in profiles.values()):
        slurm.check()
    made = []
    for problem, on, software in product(matrix.problems, matrix.on, matrix.software):
        chosen = matrix.software[software]
        selected = Selected(rounds=matrix.rounds)
        request = Request(str(problem), selected, chosen.engine, chosen.options(), full=matrix.full)
        asked = _understood(request, profiles.get(on))
        entry = Entry(problem=asked.problem.folder.name, on=on, software=software)
        run = runs.get((entry.problem, on, software), "")
        if run:
            asked = _understood(replace(request, resume=Path(run)), profiles.get(on))
        made.append(Combination(entry.model_copy(update={"run": run}), asked))
    return made


def _understood(request: Request, cluster: Profile | None) -> here.Session | session.Asked:
    if cluster is None:
        return here.session(request)
    if cluster.slurm is None:
        raise UsageError("the harness submits nothing to Kubernetes", where="matrix")
    return session.understood(request, cluster)


class MatrixRun:
    """Executes the combinations: those of clusters together, those of this machine in turn."""

    def __init__(self, combinations: Sequence[Combination], folder: Path | None = None) -> None:
        self._combinations = combinations
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        self.folder = folder or checkout.runs() / "matrix" / stamp
        self.entries = {each.name: each.entry for each in combinations}
        self.errors: dict[str, str] = {}

    def execute(self, tell: Tell, notify: Callable[[str], None]) -> None:
        """Run the cells left of every combination; a failure is noted and the others go on."""
        followers = []
        for each in self._combinations:
            if isinstance(each.asked, session.Asked) and each.asked.profile.slurm:
                batch = session.Batch(each.asked, each.asked.profile.slurm, each.asked.run())
                self._note(each, batch.run)
                if self._tried(each, batch.submit):
                    followers.append(self._following(each, batch, tell))
        for each in self._combinations:
            if isinstance(each.asked, here.Session):
                self._tried(each, partial(self._here, each, tell, notify))
        for follower in followers:
            follower.join()

    def _here(self, each: Combination, tell: Tell, notify: Callable[[str], None]) -> None:
        assert isinstance(each.asked, here.Session)  # noqa: S101 - the caller has looked
        work = each.asked.install(notify)
        self._note(each, work.run)
        work.execute(lambda cell, status, seconds: tell(each, cell, status, seconds))

    def _following(self, each: Combination, batch: session.Batch, tell: Tell) -> threading.Thread:
        """Start to follow the jobs of a combination; its thread ends with this process."""

        def follow() -> None:
            batch.follow(lambda cell, status, seconds: tell(each, cell, status, seconds))
            losses = list(batch.losses())
            if losses:
                self.errors[each.name] = "; ".join(losses)

        thread = threading.Thread(target=self._tried, args=(each, follow), daemon=True)
        thread.start()
        return thread

    def _tried(self, each: Combination, work: Callable[[], object]) -> bool:
        try:
            work()
        except HarnessError as error:
            self.errors[each.name] = str(error)
            return False
        return True

    def _note(self, each: Combination, run: Run) -> None:
        """Write a combination's run into the index."""
        entry = self.entries[each.name].model_copy(update={"run": str(run.folder)})
        self.entries[each.name] = entry
        record = Index(entries=tuple(self.entries.values()))
        files.write_json(self.folder / INDEX, record.as_json())
