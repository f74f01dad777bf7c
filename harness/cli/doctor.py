"""``harness doctor``: what this machine lacks; its ceilings; containers that nobody needs."""

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from harness.cli import engine_options, output
from harness.ground.errors import ToolError, UsageError

if TYPE_CHECKING:
    from harness.engines.options import Options


@dataclass(frozen=True)
class Checked:
    """A check of this machine; ``ok`` is null where nothing can be said."""

    name: str
    ok: bool | None
    found: str
    remedy: str


@dataclass(frozen=True)
class Doctored:
    """The checks of this machine, and the machine."""

    checks: list[Checked]
    target: dict[str, Any]


@dataclass(frozen=True)
class Cleaned:
    """With ``--clean``: containers that were removed, those still there, and engines' errors."""

    removed: list[str]
    still_there: list[str]
    cannot_tell: list[str]


def doctor(
    engine: Annotated[
        str,
        typer.Option(
            metavar="ENGINE", help=f"Fail if this engine cannot work: {engine_options.NAMES}."
        ),
    ] = "auto",
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Measure this GPU's ceilings; keep them for a day.")
    ] = False,
    clean: Annotated[
        bool, typer.Option("--clean", help="Remove containers whose harness has ended.")
    ] = False,
    python: engine_options.Python = None,
    wheels: engine_options.Wheels = None,
    image: engine_options.Image = None,
    mount: engine_options.Mounts = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Say what this machine lacks, each with its remedy.

    GPU, profilers, counters, engines and disk are looked at. With --calibrate: what the GPU reaches
    at most, beside the datasheet's peaks; --python, --wheels, --image and --mount are for that
    alone. With --clean: containers of a running harness stay; exit code 1 if another one is left,
    or an engine does not answer.
    """
    if not calibrate and (python or wheels or image or mount):
        remedy = "--python, --wheels, --image and --mount are for --calibrate"
        raise UsageError("nothing is run here", remedy=remedy)
    if clean and (calibrate or engine != "auto"):
        remedy = "leave out --calibrate and --engine"
        raise UsageError("--clean asks every engine that is here", remedy=remedy)
    if calibrate:
        _calibrate(engine, engine_options.options(python, wheels, image, mount), json=json)
    elif clean:
        _clean(json=json)
    else:
        _examine(engine, json=json)


def _examine(engine: str, *, json: bool) -> None:
    """Check this machine; exit code 1 if something is not as it has to be."""
    from harness.engines import choose
    from harness.engines.doctor import checks
    from harness.engines.options import Options
    from harness.machine.host import Host
    from harness.machine.target import detect, has_bindings

    choose.known(engine)
    here = has_bindings()
    node = choose.node_of(engine, Options()) if here else Host(detect(with_gpus=False))
    lines = [Checked(each.name, each.ok, each.found, each.remedy) for each in checks(node, engine)]
    if json:
        output.as_json(Doctored(lines, node.target.as_dict()))
    else:
        words = {True: "ok", False: "NO", None: "–"}
        rows = [(words[line.ok], line.name, line.found, line.remedy) for line in lines]
        output.table(("", "what", "found", "remedy"), rows)
    if any(line.ok is False for line in lines):
        raise typer.Exit(1)


def _calibrate(engine: str, options: "Options", *, json: bool) -> None:
    """Measure this GPU's ceilings and print them beside the datasheet's peaks."""
    from harness.cli.progress import Progress
    from harness.report.ceiling_table import ceiling_table
    from harness.run import calibrate as calibration

    node = calibration.node_with_gpu(engine, options)
    built = calibration.ready(node, engine, options, (lambda _: None) if json else print)
    with Progress(calibration.cells(node.target), quiet=json) as progress:
        ceilings = calibration.measure(built, progress.notify)
    if json:
        output.as_json(ceilings.as_json())
        return
    rates = {name: rate.as_json() for name, rate in ceilings.rates.items()}
    table = ceiling_table(str(ceilings.name), {ceilings.gpu: rates})
    output.table(table.head, table.rows)
    if table.source:
        output.say(f"datasheet: {table.source}")
    for doubt in ceilings.doubts:
        output.say(f"noticed: {doubt}")


def _clean(*, json: bool) -> None:
    """Remove containers that a harness left when it was killed."""
    from harness.engines.docker_cli import Client

    done = Cleaned([], [], [])
    for name in ("docker", "podman"):
        if shutil.which(name) is None:
            continue  # without the engine there is no container
        try:
            client = Client(name)
            strays = client.strays()
        except ToolError as error:
            done.cannot_tell.append(str(error))
            continue
        for stray in strays:
            why = client.end(stray)
            what = f"{name} {stray}"
            (done.still_there if why else done.removed).append(f"{what}: {why}" if why else what)
    if json:
        output.as_json(done)
    else:
        told = [f"removed: {line}" for line in done.removed]
        told += [f"still there: {line}" for line in done.still_there]
        told += [f"cannot tell: {line}" for line in done.cannot_tell]
        for line in told or ["nothing to clean"]:
            output.say(line)
    if done.still_there or done.cannot_tell:
        raise typer.Exit(1)
