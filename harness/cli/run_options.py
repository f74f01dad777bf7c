"""The options of ``harness run`` that shape a run."""

from pathlib import Path
from typing import Annotated

import typer

from harness.cli import completion

_ONLY = "Only this one; may be given again."
Variants = Annotated[list[str] | None, typer.Option(help=_ONLY, autocompletion=completion.variants)]
Cases = Annotated[list[str] | None, typer.Option(help=_ONLY, autocompletion=completion.cases)]
Captures = Annotated[list[str] | None, typer.Option(help=_ONLY, autocompletion=completion.captures)]
Rounds = Annotated[
    int | None, typer.Option(help="Times that each timing cell runs, if not the problem's.")
]
Part = Annotated[
    str | None,
    typer.Option(metavar="I/N", help="Run one part of the plan: 0/8 is the first of at most 8."),
]
Gpus = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="Run cells side by side on these GPUs, such as 0,2."),
]
Jobs = Annotated[
    int | None,
    typer.Option(help="Cells that set up side by side; one measures. As the machine bears."),
]
LockClocks = Annotated[
    int | None,
    typer.Option(metavar="MHZ", help="Hold the SM clock at so many MHz; undone at the end.", min=1),
]
Full = Annotated[
    bool, typer.Option("--full", help="Every cell, not only what headline claims need.")
]
Resume = Annotated[Path | None, typer.Option(metavar="FOLDER", help="Go on with this run folder.")]
On = Annotated[
    str | None,
    typer.Option(
        metavar="CLUSTER", help="Run as jobs of this cluster: clusters/NAME.toml, or a path."
    ),
]
Cancel = Annotated[
    bool, typer.Option("--cancel", help="Ctrl-C cancels the cluster's jobs; else they go on.")
]
