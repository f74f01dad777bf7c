"""``harness calibrate``: measure what this GPU reaches at most."""

from typing import Annotated

import typer

from harness.cli import engine_options


def calibrate(
    engine: engine_options.Engine = "auto",
    python: engine_options.Python = None,
    wheels: engine_options.Wheels = None,
    image: engine_options.Image = None,
    mount: engine_options.Mounts = None,
    json: Annotated[bool, typer.Option("--json", help="Print as JSON.")] = False,
) -> None:
    """Measure this GPU's ceilings and keep them for a day.

    They are printed beside the datasheet's peaks.
    """
    from harness.cli import output
    from harness.cli.progress import Progress
    from harness.report.ceiling_table import ceiling_table
    from harness.run import calibrate as calibration

    options = engine_options.options(python, wheels, image, mount)
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
