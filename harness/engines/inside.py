"""Where a cell's process finds things inside a container, whichever program starts that."""

from pathlib import Path

from harness.engines.engine import cell_input, compile_threads
from harness.engines.rights import Mount
from harness.evidence.kinds import KINDS
from harness.ground.checkout import CHECKOUT
from harness.machine.target import Target
from harness.problem.model import Problem
from harness.problem.plan import Cell

SOURCE, PROBLEM, OUT, LOCKS = "/work/source", "/work/problem", "/out", "/work/locks"
_BESIDE_PROBLEM = "/work"

_CACHES = {
    "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor",  # noqa: S108 - the container's own
    "TRITON_CACHE_DIR": "/tmp/triton",  # noqa: S108
}


def variables(cell: Cell, target: Target, overlays: list[str]) -> dict[str, str]:
    """Return the environment of a cell's process; ``overlays`` are laid over the interpreter."""
    return {
        **cell.variables,
        "HARNESS_CELL": cell_input(cell, target, OUT, LOCKS),
        "PYTHONPATH": ":".join([SOURCE, *overlays]),
        **_CACHES,
        **compile_threads(cell, target),
    }


def workload(cell: Cell, python: str) -> list[str]:
    """Return the command of a cell's process, with its profiler."""
    return KINDS[cell.capture].wrap([python, f"{PROBLEM}/{cell.script}"], Path(OUT), cell.flags)


def mounts(problem: Problem, scratch: Path) -> list[Mount]:
    """Return the host's files that a cell's process reads."""
    all_mounts = [
        Mount(CHECKOUT / "harness", f"{SOURCE}/harness"),
        Mount(problem.folder.resolve(), PROBLEM),
        Mount(scratch / "locks", LOCKS),
    ]
    all_mounts += [Mount(each, f"{_BESIDE_PROBLEM}/{each.name}") for each in problem.needed.folders]
    if problem.workloads:
        all_mounts.append(Mount(problem.shared.resolve(), f"{SOURCE}/workloads"))
    return all_mounts


def overlays(problem: Problem, environment: str, target: Target) -> list[str]:
    """Return the image's folders of an environment's packages and of the probe's."""
    own = problem.environments[environment]
    if own.image:
        return []
    names = [Path(own.lock).stem] if own.lock else []
    return [f"/opt/envs/{name}" for name in [*names, *["probe"] * bool(target.gpu)]]
