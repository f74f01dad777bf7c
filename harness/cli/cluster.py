"""A run on a cluster as a user sees it: what is submitted, how it goes, and how it ended."""

import sys
from typing import TYPE_CHECKING

from harness.cli import account, output
from harness.cli.progress import Progress

if TYPE_CHECKING:
    from harness.run.cluster.session import Batch, OnCluster


def show(asked: "OnCluster") -> None:
    """Print the cells of each job that would be submitted."""
    for number, part in enumerate(asked.parts):
        alone = ", a node to itself" if any(cell.loads_host for cell in part) else ""
        output.say(f"# job {number + 1} of {len(asked.parts)}: {len(part)} cells{alone}")
        for cell in part:
            output.say(cell.id)


def carried_out(asked: "OnCluster", *, cancel: bool, quiet: bool) -> tuple["Batch", list[str], int]:
    """Submit, follow, and say what was lost; return the run, these lines, and how many failed.

    If interrupted, the jobs go on, or are cancelled where ``cancel`` asks for that.
    """
    from harness.run.cluster import slurm
    from harness.run.cluster.session import Batch

    slurm.check()
    batch = Batch(asked, asked.run())
    left = batch.to_run
    told: list[str] = []
    try:
        jobs = batch.submit()
        told.append(f"{len(left)} cells left, {len(jobs)} jobs submitted: {', '.join(jobs) or '-'}")
        if not quiet:
            output.say(f"run: {batch.run.folder}")
            output.say(told[-1])
        done = len(batch.cells) - len(left)
        with Progress(left, done=done, jobs=max(1, len(jobs)), quiet=quiet) as progress:
            batch.follow(progress.notify)
    except KeyboardInterrupt:
        if cancel:
            batch.cancel()
        what = "cancelled" if cancel else "left to go on"
        names = ", ".join(submission.name for submission in batch.followed)
        output.say(f"jobs {what}: squeue --name={names}", to_stderr=True)
        for line in account.interrupted(batch, sys.argv):
            output.say(line, to_stderr=True)
        raise
    losses = list(batch.losses())
    for line in losses:
        output.say(line, to_stderr=True)
    return batch, told + losses, len(batch.to_run)
