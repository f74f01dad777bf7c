"""Reproduce the comparison over shapes: the dispatcher's choice, all plans, the library's best.

Run by ``harness run 8``; ``--dry-run`` prints the command and environment of each cell. A cell of
many shapes measures as many as its time allows, as ``measure_shapes.py`` does: the contenders of a
shape run interleaved in one process, and a worker that hangs is replaced. What calls the operator
imports it late: that compiles it.
"""

import json
import math
from argparse import Namespace

import copies
import cutlass_matmul
import limits
import sanitize_shapes
import torch
from cubins import CACHE
from device import highest_clock
from fit import VALIDATION
from measure_shapes import LOG, Session
from measuring import oriented
from plans import Problem, describe, understood
from pool import OperandPool
from pooled import FINAL_ROUNDS
from regions import keep, measured
from shape_sets import ODD, SEED, SETS

from harness.probe.cell import Cell

SILENCE_S = 8.0
VALIDATED = {
    "left_out_shapes": "shapes",
    "swept_problems": "problems",
    "rested_problems": "problems",
}
"""The unit of what fit.py found, where it is not %."""
CHECKERS = 8


def main() -> None:
    """Run the cell that the environment names."""
    cell = Cell.load()
    torch.manual_seed(0)
    if cell.device == "cuda" and torch.cuda.get_device_capability() != (9, 0):
        raise SystemExit("the kernels are built for sm_90a: this needs a Hopper GPU (H100, H200)")
    workloads = {"shapes": shapes, "check": check, "operator": operator, "sanitize": sanitize}
    workloads |= {"one": one, "steps": steps}
    workloads[cell.params["workload"]](cell)
    cell.finish()


def shapes(cell: Cell) -> None:
    """Time shapes of a set, or those that are named, and state a region for each and for groups."""
    params = cell.params
    named = [understood(text).shape for text in params.get("shapes", [])]
    of_set = SETS[params["set"]]() if "set" in params else []
    if "cutlass" in params.get("beside", []):
        cutlass_matmul.build_all(params["layouts"], params["element"])
    with cell.exclusively():
        copied = copies.measure()
        session = _session(cell)
        session.time([*named, *of_set], params["layouts"])
    timed = [row for row in session.rows("time") if "finals" in row]
    rows = measured(timed)
    if not rows:
        raise SystemExit(f"no shape was timed: see {LOG}")
    keep(cell, rows, copied)
    if VALIDATION.exists():  # what fit.py found on the tuning set
        for name, value in json.loads(VALIDATION.read_text(encoding="utf-8")).items():
            cell.fact(name, value, VALIDATED.get(name, "%"))
    if of_set:
        cell.fact("seed", SEED)
    cell.fact("bandwidth", copied.bandwidth * 1e6, "B/s")
    cell.fact("highest_mhz", highest_clock(), "MHz")
    cell.fact("not_reached", len(session.left), "problems")
    cell.fact("without_choice", len(timed) - len(rows), "problems")
    wrong = [error for row in timed for error in row["errors"].values() if error["wrong"]]
    cell.fact("wrong_plans", len(wrong), "products")


def check(cell: Cell) -> None:
    """Check every plan of the odd shapes in every layout."""
    problems = [Problem(shape, layout) for layout in cell.params["layouts"] for shape in ODD]
    with cell.exclusively():
        session = _session(cell)
        session.check(problems)
    rows = session.rows("check")
    reached = {row["problem"] for row in rows}
    cell.fact("checks", len(rows), "products")
    cell.fact("wrong_products", sum(bool(row.get("wrong")) for row in rows), "products")
    cell.fact("ended_workers", len(session.avoided), "kernels")
    cell.fact("not_reached", sum(describe(each) not in reached for each in problems), "shapes")
    ratios = [row["error"] / row["torch"] for row in rows if row.get("torch")]
    cell.fact("largest_error_ratio", max(filter(math.isfinite, ratios)), "×")


def operator(cell: Cell) -> None:
    """State the operator's errors, how many of opcheck's tests fail, and what the host can call."""
    import check_operator
    import host_calls

    with cell.exclusively():
        worst, verdicts = check_operator.checked()
        rates = host_calls.measured(cell.params["element"])
        first = host_calls.first_calls(cell.params["element"])
    host_calls.keep(cell, rates)
    host_calls.keep_first(cell, first)
    for name, error in worst.items():
        cell.fact(f"error.{name}", error)
    cell.fact("largest_operator_error", max(worst.values()))
    cell.fact(
        "failed_opchecks", sum(verdict != "SUCCESS" for verdict in verdicts.values()), "tests"
    )


def sanitize(cell: Cell) -> None:
    """State what memcheck and racecheck found."""
    with cell.exclusively():
        findings = sanitize_shapes.findings(
            cell.params["element"], cell.params["layouts"], CACHE, cell.params["limit_s"]
        )
    for tool, fact, unit in (
        ("memcheck", "memory_errors", "errors"),
        ("racecheck", "hazards", "hazards"),
    ):
        of_tool = [finding for finding in findings if finding.tool == tool]
        ended = [finding for finding in of_tool if finding.count is not None]
        if not ended:
            raise SystemExit(f"{tool}: {of_tool[0].message}")
        cell.fact(fact, sum(finding.count or 0 for finding in ended), unit)
        cell.fact(f"shapes_under_{tool}", len(ended), "shapes")


def steps(cell: Cell) -> None:
    """State what a step of K takes, whole, its loads alone and its products alone."""
    with cell.exclusively():
        found: dict[str, dict[str, list[float]]] = {}
        for tile, kind, cycles in limits.measured(cell.params["element"]):
            found.setdefault(tile, {})[kind] = cycles
    for tile, by_kind in found.items():
        for kind, cycles in by_kind.items():
            cell.sample(tile, f"{kind}_cycles", "cycles", cycles)
        for kind, share in limits.shares(by_kind).items():
            cell.sample(tile, f"{kind}_share", "%", share)


def one(cell: Cell) -> None:
    """Hand one product of one side over to the capture."""
    from gemm import hgemm

    problem = understood(cell.params["problem"])
    a, b, _ = OperandPool(cell.params["element"], 1 << 28).sets(problem)[0]
    left, right = oriented(problem, a, b)
    product = torch.mm if cell.params["contender"] == "library" else hgemm
    m, n, k = problem.shape
    cell.fact("io_bytes", 2 * (m * k + k * n + m * n), "B")
    cell.measure("product", lambda: product(left, right))


def _session(cell: Cell) -> Session:
    """Return a session whose time begins now: not while another cell measures."""
    params = cell.params
    options = {"out": cell.out, "jobs": CHECKERS, "cache": CACHE}
    options |= {"silence_s": params.get("silence_s", SILENCE_S)}
    options |= {"element": params["element"], "limit_s": params["limit_s"]}
    options |= {"most": params.get("most", 0), "batch_ms": params.get("batch_ms", 0.0)}
    options |= {"rest_ms": params.get("rest_ms", 0.0)}
    options |= {"finals": params.get("finals", FINAL_ROUNDS)}
    options |= {"beside": params.get("beside", []), "alone": False}
    return Session(Namespace(**options))


if __name__ == "__main__":
    main()
