"""Which engine runs a problem: the one asked for, or the first of "auto" that can be built."""

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.engines import ENGINES
from harness.engines.engine import Engine, Node
from harness.engines.options import Options
from harness.ground import locks
from harness.ground.checkout import CHECKOUT
from harness.ground.errors import ToolError, UsageError
from harness.machine.target import Target
from harness.problem.model import Problem
from harness.problem.names import nearest

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS)
"""What taking a lock fails with where the file system has none."""

WorkOn = Callable[[str, Path], None]
"""Called with a description of work that takes long, and the log that the work writes."""


def known(wanted: str) -> None:
    """Raise UsageError for a name that is neither an engine's nor "auto"."""
    names = ("auto", *ENGINES)
    if wanted not in names:
        raise UsageError(f"no engine {wanted!r}", remedy=nearest(wanted, names))


def node_of(wanted: str, options: Options) -> Node:
    """Return the machine that cells of this engine would run on; "auto" stays on this host."""
    known(wanted)
    return _class("local" if wanted == "auto" else wanted).find_node(options)


def runs_images(wanted: str) -> bool:
    """Return whether cells whose environment is an image run under this engine.

    Not under "auto": it would fetch images of many GB unasked.
    """
    return wanted in ("docker", "podman")


def choose(wanted: str, target: Target) -> list[tuple[str, str]]:
    """Return the engines to try, in order, each with the reason that it is tried.

    "auto": a container with the GPU, the local GPU, a container on the CPU, the local CPU.
    """
    known(wanted)
    if wanted != "auto":
        return [(wanted, f"the {wanted} engine, as asked")]
    if target.gpu is None:
        containers = [
            (name, f"auto chose {name}: no GPU here, a container on the CPU")
            for name in _answering()
        ]
        return [*containers, ("local", "auto chose the local engine: no GPU here: the local CPU")]
    gpu = target.gpu.name
    with_gpu = [
        (name, f"auto chose {name}: a container with the {gpu}") for name in _answering(gpu=True)
    ]
    return [*with_gpu, ("local", f"auto chose the local engine: a local {gpu}")]


def ready(
    wanted: str,
    problem: Problem,
    node: Node,
    options: Options,
    environments: list[str],
    notify: Callable[[str], None],
    work_on: WorkOn = lambda *_: None,
) -> tuple[str, Engine]:
    """Build the engines of ``choose`` in turn; return the first that succeeds, after its name.

    ``notify`` gets a line that names the engine and the reason for it, and under "auto" a line for
    each engine before it, with its error. Raises ToolError if the last engine fails, too.
    """
    work_on("looking for an engine", Path())
    candidates = choose(wanted, node.target)
    for name, reason in candidates:
        try:
            log = CHECKOUT / ".envs" / f"install-{name}.txt"
            work_on(f"setting up the {name} engine", log)
            engine = make(name, problem, node, options)
            with _installing():
                engine.prepare(environments, log)
        except ToolError as error:
            if name == candidates[-1][0]:
                raise
            notify(f"auto passed {name} over: {error}")
            continue
        notify(reason)
        return name, engine
    raise AssertionError("choose returns at least one engine")


def make(name: str, problem: Problem, node: Node, options: Options) -> Engine:
    """Return an engine of that name; nothing is built yet."""
    return _class(name)(problem, node, options)


def _class(name: str) -> type[Engine]:
    return ENGINES[name]()


@contextlib.contextmanager
def _installing() -> Iterator[None]:
    """Let one run of this checkout install at a time; the next finds what this one built."""
    lock = CHECKOUT / ".envs" / "install.lock"
    try:
        lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = locks.wait_for(lock)
    except OSError as error:
        if error.errno in _NO_LOCKS:  # on a shared file system: each builds its own, one stays
            yield
            return
        remedy = "choose a checkout that you may write to"
        raise ToolError(f"cannot install: {error.strerror}", where=lock, remedy=remedy) from None
    try:
        yield
    finally:
        locks.free(descriptor)


def _answering(*, gpu: bool = False) -> list[str]:
    """Return the container engines that answer and, if ``gpu``, can give a container the GPU."""
    from harness.engines.docker_cli import Client

    names = []
    for name in ("docker", "podman"):
        with contextlib.suppress(ToolError):
            client = Client(name)
            client.version()
            if not gpu or client.has_gpus():
                names.append(name)
    return names
