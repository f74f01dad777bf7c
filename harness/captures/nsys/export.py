"""A report of Nsight Systems (``.nsys-rep``) as SQLite, made by the ``nsys`` program."""

import shutil
from pathlib import Path

from harness.ground import process
from harness.ground.errors import ToolError

_DEADLINE_S = 600.0
_REMEDY = "export it with `nsys export --type sqlite` where Nsight Systems is installed"


def export(path: Path, report: Path, folder: Path) -> Path:
    """Return the SQLite export of ``report``, made in ``folder``.

    Raises ToolError, which names the user's file ``path``, if nsys is absent or fails.
    """
    if shutil.which("nsys") is None:
        raise ToolError(
            "reading an .nsys-rep needs the nsys program, which is not on PATH",
            where=path,
            remedy=f"{_REMEDY}, or install it here",
        )
    database = folder / "export.sqlite"
    argv = ["nsys", "export", "--type=sqlite", f"--output={database}", str(report)]
    outcome = process.run(
        argv,
        cwd=folder,
        env=process.environment({}),
        log=folder / "nsys.log",
        deadline_s=_DEADLINE_S,
    )
    if outcome.status != "ok" or not database.exists():
        raise ToolError(
            f"nsys export: {outcome.status}: {outcome.detail}", where=path, remedy=_REMEDY
        )
    return database


def check(program: str) -> tuple[str, str]:
    """Return whether the program at this path can export, and the remedy, empty if it can."""
    try:
        process.output([program, "export", "--help"])
        importer = Path(program).resolve().parent / "QdstrmImporter"
        libraries = process.output(["ldd", str(importer)]) if importer.is_file() else ""
    except ToolError as error:
        return str(error), "reinstall Nsight Systems"
    missing = [line.split()[0] for line in libraries.splitlines() if "not found" in line]
    if missing:
        return "cannot load", f"install the packages with {', '.join(missing)}"
    return "works", ""
