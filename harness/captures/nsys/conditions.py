"""What an export of Nsight Systems says of the machine it was recorded on."""

from pathlib import Path

from harness.captures.formats import sqlite_file
from harness.evidence.tables import Tables


def conditions(path: Path, _tables: Tables) -> dict[str, str]:
    """Return GPU, driver and nsys version, those of them that the export at ``path`` names."""
    values: dict[str, str] = {}
    with sqlite_file.opened(path) as file:
        if "name" in file.columns("TARGET_INFO_GPU"):
            names = file.fetch("TARGET_INFO_GPU", {"name": "TEXT"})["name"].drop_nulls()
            values["GPU"] = ", ".join(sorted(set(names)))
        for table, name, label in (
            ("TARGET_INFO_SYSTEM_ENV", "NvDriverVersion", "driver"),
            ("META_DATA_EXPORT", "EXPORT_PRODUCT_VERSION", "nsys"),
        ):
            if {"name", "value"} <= file.columns(table):
                rows = file.fetch(table, {"name": "TEXT", "value": "TEXT"}).drop_nulls()
                values[label] = dict(rows.iter_rows()).get(name, "")
    return {label: value for label, value in values.items() if value}
