"""Starts a problem's script alone, without a run: ``python repro.py --variant V --case C``.

The script, called without a cell, becomes this module by exec; this module reads the manifest and
becomes the script again, with its cell. So debuggers and profilers hold one process throughout.
"""

import os
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

_NOT_INSTALLED = 1


def main(script: Path, arguments: list[str]) -> NoReturn:
    """Start ``script`` with the cell that the arguments name; UsageError if there is none."""
    import argparse
    import json

    from harness.engines.engine import cell_input
    from harness.evidence.kinds import unprofiled
    from harness.ground.checkout import CHECKOUT
    from harness.machine import target
    from harness.probe.names import INPUT
    from harness.problem import manifest
    from harness.problem.plan import Able, Selected, plan

    problem = manifest.load(script.resolve().parent)
    parser = argparse.ArgumentParser(
        prog=script.name, description=f"Run one cell of {problem.folder.name} without recording it."
    )
    parser.add_argument("--variant", default=problem.baseline, help=", ".join(problem.variants))
    parser.add_argument("--case", default=next(iter(problem.cases)), help=", ".join(problem.cases))
    parser.add_argument("--capture", help=", ".join(problem.captures))
    parser.add_argument("--out", type=Path, help="where to leave files; a temporary folder")
    asked = parser.parse_args(arguments)
    here = target.detect()
    kinds = (asked.capture,) if asked.capture else ()
    chosen = Selected((asked.variant,), (asked.case,), kinds, rounds=1)
    cells = plan(problem, chosen, here.device, here=Able(capability=here.capability))
    cell = next((each for each in cells if each.capture == unprofiled()), cells[0])
    if lock := problem.environments[cell.environment].lock:
        what = f"note: {cell.variant} is of {lock}; this is what {sys.executable} has installed"
        print(what, file=sys.stderr)
    out = asked.out or Path(tempfile.mkdtemp(prefix=f"{problem.folder.name}-"))
    (out / "locks").mkdir(parents=True, exist_ok=True)
    description = json.loads(
        cell_input(cell, here, str(out.resolve()), str(out.resolve() / "locks"))
    )
    folders = [str(CHECKOUT), *([str(problem.shared.parent)] if problem.workloads else [])]
    paths = filter(None, [*folders, os.environ.get("PYTHONPATH")])
    for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"):
        os.environ.setdefault(name, str(out.resolve() / "cache" / name.partition("_")[0].lower()))
    os.environ |= {
        **cell.variables,
        INPUT: json.dumps(description | {"by_hand": True}),
        "PYTHONPATH": os.pathsep.join(paths),
    }
    os.execv(sys.executable, [sys.executable, str(script.with_name(cell.script))])  # noqa: S606 - the user's own script


def _guarded() -> NoReturn:
    """Start the script that the command line names; a user's error is one line."""
    try:
        from harness.ground.errors import HarnessError

        try:
            main(Path(sys.argv[1]), sys.argv[2:])
        except HarnessError as error:
            print(f"{sys.argv[1]}: {error}", file=sys.stderr)
            raise SystemExit(error.exit_code) from None
    except ModuleNotFoundError as error:
        lacking = f"{sys.executable} has no {error.name}"
        print(f"{lacking} (pip install the harness there, or use harness run)", file=sys.stderr)
        raise SystemExit(_NOT_INSTALLED) from None


if __name__ == "__main__":
    _guarded()
