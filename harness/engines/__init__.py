"""Where a cell's process lives: one file and one line here for each engine."""

ENGINES = {
    "local": "harness.engines.local:Local",
    "docker": "harness.engines.container:Docker",
    "podman": "harness.engines.container:Podman",
    "apptainer": "harness.engines.apptainer:Apptainer",
}
"""Name to class (see ``harness.engines.engine.Engine``), imported when chosen."""
