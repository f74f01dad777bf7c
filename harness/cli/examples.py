"""The lines to type with which the commands' help ends."""

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "list": ("harness list", "harness list --json"),
    "studies": ("harness studies worklogs",),
    "new": ("harness new slow-attention",),
    "lint": ("harness lint", "harness lint 7"),
    "run": (
        "harness run 1 --dry-run             which cells, and how long they take",
        "harness run 1 --commands            the lines to paste for each cell",
        "harness run 1 --worklog             the headline claims, then their page",
        "harness run 1 --full --worklog      every cell",
        "harness run 1 --variant bf16-eager --case stack-m1 --capture nsys",
        "harness run 1 --bisect gpu_time --case stack-m1",
        "harness run 1 --on slurm            as jobs of a cluster: docs/clusters.md",
        "harness run 1 --gpus 0,2            side by side on two GPUs",
        "harness run 1 --resume runs/1-torchao-float8/20261121-101500",
    ),
    "fleet": (
        "harness fleet --on h200 --on a100   every study on both: docs/clusters.md",
        "harness fleet 1 4 --on h200 --full --published",
    ),
    "check": (
        "harness check 1                     the newest run, else the report",
        "harness check --report reports/1-torchao-float8/nvidia-h200",
        "harness check 1 --strict --json",
        "harness check 1 --against RUN --junit junit.xml",
        "harness check 1 --claim weight-only-decode    what a claim rests on",
        "harness check --deep 1              are its files as they were recorded",
    ),
    "report": (
        "harness report 1                    the newest run's worklog",
        "harness report                      every report again",
        "harness report --report reports/1-torchao-float8/nvidia-h200",
        "harness report 1 --tables-only      its evidence alone, beside its captures",
        "harness report --join RUN RUN       two runs on one model of GPU as one",
    ),
    "inspect": (
        "harness inspect trace.json.gz       of torch.profiler",
        "harness inspect report.ncu-rep --full-names",
        "harness inspect reports/1-torchao-float8/nvidia-h200:stack-m1.bf16-eager",
    ),
    "diff": (
        "harness diff before.nsys-rep after.nsys-rep",
        "harness diff FOLDER:CASE.VARIANT FOLDER:CASE.OTHER",
        "harness diff before.sqlite after.sqlite --fail-above 5% --junit junit.xml",
    ),
    "diagnose": (
        "harness diagnose trace.json.gz",
        "harness diagnose capture.nsys-rep --json",
        "harness diagnose --test host-bound -- python train.py    is it",
    ),
    "audit": ("harness audit capture.nsys-rep",),
    "view": (
        "harness view capture.nsys-rep -o view.html",
        "harness view before.sqlite after.sqlite",
    ),
    "browse": ("harness browse", "harness browse -o site"),
    "mcp": (
        "harness mcp reports                 what a client starts: docs/agents.md",
        "harness mcp reports ~/captures",
    ),
    "contribute": (
        "harness contribute 1 -o report.tar.gz",
        "harness contribute --check report.tar.gz",
        "harness contribute --check reports/1-torchao-float8/nvidia-h200",
        "harness contribute trace.json.gz --as 1/stack-m1/bf16-eager --range step",
        "harness contribute fixed.nsys-rep --as 1/stack-m1/bf16-tuned --run RUN",
        "harness contribute --push /mnt/shared/captures    what git has no room for",
        "harness contribute --fetch /mnt/shared/captures",
    ),
    "doctor": (
        "harness doctor",
        "harness doctor --calibrate          what this GPU reaches at most",
        "harness doctor --clean              containers that a killed run left",
    ),
    "schema": (
        "harness schema > problem.schema.json",
        "harness schema check",
        "harness schema --all",
    ),
}
"""Lines to type by command; after several spaces a line says what it is for."""


def epilog(command: str) -> str | None:
    """Return the last lines of a command's help, None without examples of it."""
    if command not in EXAMPLES:
        return None
    # The first line has click leave the lines as they are.
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[command])
