"""``harness fleet``: studies as jobs of clusters, and one page of what got worse."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.cli import completion, engine_options, output

if TYPE_CHECKING:
    from harness.evidence.provenance import EvidenceProvenance
    from harness.evidence.subject import Folder
    from harness.report.night import Fared
    from harness.run.cluster.profile import Profile
    from harness.run.cluster.session import Batch
    from harness.run.session import Request

_WORSE, _SOME_FAILED = 1, 4
_NIGHTS = 7
"""So many earlier nights are looked at for the one to compare with."""

Studies = Annotated[
    list[str] | None,
    typer.Argument(
        help="Numbers, names or folders; all if absent.", autocompletion=completion.problems
    ),
]
Clusters = Annotated[
    list[str],
    typer.Option("--on", metavar="CLUSTER", help="Run on clusters/NAME.toml; may be repeated."),
]
Published = Annotated[
    bool, typer.Option("--published", help="Compare with reports/, not with the night before.")
]


def fleet(
    on: Clusters,
    problems: Studies = None,
    full: engine_options.Full = False,
    rounds: engine_options.Rounds = None,
    published: Published = False,
    engine: engine_options.Engine = "auto",
    python: engine_options.Python = None,
    wheels: engine_options.Wheels = None,
    image: engine_options.Image = None,
) -> None:
    """Run studies on clusters, and say on one page what got worse.

    Submits every study to every cluster, follows the jobs, and judges each run as it ends. The page
    is nights/TIME/README.md. Exit code 1 if a metric is worse or a claim newly refuted, else 4 if a
    cell or a job failed. Ctrl-C cancels the jobs and writes the page of what has landed.
    """
    from harness.ground import checkout, files
    from harness.ground.errors import UsageError
    from harness.problem.plan import Selected
    from harness.run.cluster import profile, slurm
    from harness.run.session import Request
    from harness.store import run_folder

    slurm.check()
    options = engine_options.options(python, wheels, image, None)
    request = Request("", Selected(rounds=rounds), engine, options, full=full)
    clusters = {files.safe_name(Path(name).stem): profile.load(name) for name in on}
    if len(clusters) < len(on):
        raise UsageError("--on names one cluster twice", remedy="a name each for their files")
    folder = checkout.nights() / run_folder.next_name(checkout.nights())
    night = _Night(folder, clusters, published)
    night.submit(_studies(problems), request)
    night.follow()
    output.say(f"page: {night.write()}")
    if any(each.is_worse for each in night.fared):
        raise typer.Exit(_WORSE)
    if any(each.failures for each in night.fared):
        raise typer.Exit(_SOME_FAILED)


def _studies(wanted: list[str] | None) -> list[Path]:
    """Return the folders of the studies; UsageError if one is not there."""
    from harness.ground import checkout
    from harness.problem import manifest

    problems = checkout.problems()
    if not wanted:
        return manifest.folders(problems)
    return list(dict.fromkeys(manifest.find(problems, each).folder for each in wanted))


@dataclass
class _Night:
    """Studies on clusters, each a run of its own: those that ended, and those that go on."""

    folder: Path
    clusters: Mapping[str, "Profile"]
    published: bool
    fared: list["Fared"] = field(default_factory=list)
    going_on: list[tuple[str, "Batch"]] = field(default_factory=list)

    def submit(self, studies: list[Path], request: "Request") -> None:
        """Submit each study to each cluster; if interrupted, cancel what was submitted."""
        try:
            for study in studies:
                for cluster in self.clusters:
                    self._submit(cluster, study.name, replace(request, problem=str(study)))
        except BaseException:
            self._cancel()
            raise

    def _submit(self, cluster: str, study: str, request: "Request") -> None:
        from harness.ground.errors import HarnessError, NothingToRunError
        from harness.report.night import Fared
        from harness.run.cluster import session
        from harness.run.cluster.session import Batch

        try:
            asked = session.session(request, self.clusters[cluster])
            batch = Batch(asked, asked.run())
            self.going_on.append((cluster, batch))
            try:
                jobs = batch.submit()
            except HarnessError:
                self.going_on.pop()
                batch.cancel()
                raise
        except NothingToRunError as error:
            self._ended(Fared(study, cluster, lacking=str(error)))
        except HarnessError as error:
            self._ended(Fared(study, cluster, failures=(str(error),)))
        else:
            output.say(f"{cluster}: {study}: {len(jobs)} jobs submitted, run: {batch.run.folder}")

    def follow(self) -> None:
        """Judge each run as its jobs end; Ctrl-C cancels jobs, and what has landed is judged."""
        from harness.ground.endings import uninterrupted

        with ThreadPoolExecutor(len(self.going_on) or 1) as pool:
            following = {
                pool.submit(each[1].follow, lambda *_: None): each for each in self.going_on
            }
            while following:
                try:
                    for ended in as_completed(list(following)):
                        with uninterrupted():
                            self._judge(*following.pop(ended), ended)
                except BaseException as error:
                    self._cancel()  # else the pool would wait for the jobs
                    if not isinstance(error, KeyboardInterrupt):
                        raise

    def _cancel(self) -> None:
        """Cancel the jobs that go on; say which cannot be cancelled."""
        from harness.ground.errors import ToolError

        for _, batch in self.going_on:
            try:
                batch.cancel()
            except ToolError as error:
                output.say(f"not cancelled: {batch.run.folder}: {error}", to_stderr=True)

    def _judge(self, cluster: str, batch: "Batch", following: "Future[None]") -> None:
        """Judge a run whose jobs have ended, by its evidence and by what it is compared with."""
        from harness.analysis import regression
        from harness.cli import account, judgement
        from harness.extract import door
        from harness.ground.errors import HarnessError
        from harness.report import verdicts
        from harness.report.night import Fared

        fared = Fared(batch.problem.folder.name, cluster)
        try:
            following.result()
            fared = replace(fared, failures=tuple(_failures(batch)))
            now = _evidence(batch, self.folder / fared.folder)
            judged = judgement.judge(batch.problem, now)[1].judged
            fared = replace(fared, counts=verdicts.by_verdict(judged))
            if earlier := self._earlier(cluster, now):
                since = regression.since(batch.problem, now, door.report(earlier))
                fared = replace(fared, since=since, against=account.near(earlier))
        except HarnessError as error:
            fared = replace(fared, failures=(*fared.failures, str(error)))
        self.going_on.remove((cluster, batch))
        self._ended(fared)

    def _earlier(self, cluster: str, now: "Folder") -> Path | None:
        """Return what a run is compared with, an earlier night or the published report.

        Of the last nights that is the one with most of the run's cells, the newest of those: one
        that lacked a cell would let the next night's time of it pass.
        """
        from harness.extract import door
        from harness.ground import checkout

        run, cells = now.origin.run, _measured(now.origin)
        report = checkout.reports() / run.problem / run.target.slug
        nights = sorted(self.folder.parent.glob(f"[!.]*/{cluster}/{run.problem}/evidence"))
        folders = [each.parent for each in nights if self.folder not in each.parents]
        if folders and not self.published:
            shared = {
                folder: len(cells & _measured(door.provenance_of(folder)))
                for folder in reversed(folders[-_NIGHTS:])
            }
            return max(shared, key=lambda folder: shared[folder])
        return report if (report / "evidence").is_dir() else None

    def _ended(self, fared: "Fared") -> None:
        """Say how a study fared, and write the page anew."""
        self.fared.append(fared)
        output.say(f"{fared.cluster}: {fared.study}: {fared.in_words()}")
        for line in (*fared.failures, *filter(None, [fared.lacking])):
            output.say(f"    {line}", to_stderr=True)
        self.write()

    def write(self) -> Path:
        """Write the page and return its path."""
        from harness.ground import files
        from harness.report import night

        gpus = {name: profile.gpu or "CPU" for name, profile in self.clusters.items()}
        path = self.folder / "README.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(path, night.page(path.parent.name, gpus, self.fared, len(self.going_on)))
        return path


def _evidence(batch: "Batch", folder: Path) -> "Folder":
    """Extract a run into a folder, render its worklog there, and return the evidence."""
    from harness.extract import door
    from harness.extract import run as extraction
    from harness.ground import checkout
    from harness.report import publish

    extraction.extract(batch.run, folder / "evidence")
    publish.render(batch.problem, folder, checkout.reports() / batch.problem.folder.name)
    return door.report(folder)


def _measured(origin: "EvidenceProvenance") -> set[str]:
    """Return the cells that ended well."""
    return {cell.cell for cell in origin.cells if cell.status == "ok"}


def _failures(batch: "Batch") -> Iterator[str]:
    """Yield a line for each job that was lost and each cell that failed, with its log."""
    yield from batch.losses()
    for folder, record in batch.run.records():
        if not record.ok:
            yield f"cell {record.name}: {record.status}: {record.reason}: {folder / 'log.txt'}"
