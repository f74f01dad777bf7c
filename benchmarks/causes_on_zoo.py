"""The causes of problem 6's specimens, tested by what they predict under interventions.

    python3 benchmarks/causes_on_zoo.py record FILE.json [FAMILY...]   on a GPU, with torch and cc
    python3 benchmarks/causes_on_zoo.py grade FILE.json                anywhere

FAMILY: timeline, kernel, multi; timeline if none is named. Each twin runs in a process of its own,
in which usual steps alternate with steps in which a kind of host time is lengthened, so that
start-up and inputs are paid once. A sick twin's cause is the planted one, a healthy twin's is that
it has none.
"""

import argparse
import ctypes
import json
import math
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from harness.analysis import sensitivity, statistics  # noqa: E402
from harness.run.intervene import KINDS, compiled  # noqa: E402

ROUNDS, SAMPLES, SAMPLE_S, LIMIT_S = 5, 3, 0.06, 90
"""Rounds, samples of each way in a round, of which the median counts; seconds of one, of a twin."""
SKIPPED = {("timeline/launch_bound_chain", "healthy")}
"""One launch a step: the diagnosis abstains."""


def cause(name: str, twin: str) -> str:
    """Return the cause that a twin has; ``name``: such as ``timeline/host_sync_item``."""
    if twin == "healthy":
        return twin
    words = name.partition("/")[2].replace("_", "-")
    return max((each for each in sensitivity.PREDICTIONS if words.startswith(each)), key=len)


def record(out: Path, families: list[str]) -> None:
    """Time every specimen of the families, and write what came."""
    sys.path[:0] = [str(ROOT / "problems" / "6-bottleneck-zoo"), str(ROOT / "problems")]
    import torch  # noqa: F401 - once, for all processes; it does not start CUDA
    from specimen import TWINS, names

    context = multiprocessing.get_context("fork")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        library, why = compiled(Path(folder))
        if library is None:
            raise SystemExit(why)
        for name in names():
            for twin in TWINS:
                if name.partition("/")[0] not in families or (name, twin) in SKIPPED:
                    continue
                kept = Path(folder) / "row.json"
                kept.unlink(missing_ok=True)
                process = context.Process(target=timed, args=(name, twin, library, kept))
                start = time.monotonic()
                process.start()
                process.join(LIMIT_S)
                if process.is_alive():
                    process.kill()
                    process.join()
                row = json.loads(kept.read_text()) if kept.exists() else {"error": "none left"}
                row |= {"name": name, "twin": twin, "wall_s": round(time.monotonic() - start, 1)}
                rows.append(row)
                print(json.dumps(row)[:160], flush=True)
                out.write_text(json.dumps(rows, indent=1))


def timed(name: str, twin: str, library: Path, kept: Path) -> None:
    """Time a twin's steps, usual and under each intervention in turn; ms a step by round."""
    loaded = kept.parent / "loaded"
    loaded.mkdir(exist_ok=True)
    os.environ |= {
        "CUDA_INJECTION64_PATH": str(library),
        "HARNESS_SLOW": "none:0",
        "HARNESS_SLOW_LOG": str(loaded),
    }
    row: dict[str, Any] = {}
    try:
        import torch
        from specimen import load

        specimen = load(name)
        inputs = specimen.inputs_on("cuda")
        step = specimen.begin(twin, inputs)
        specimen.checked(step(), inputs)
        torch.cuda.empty_cache()
        row |= {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__}
        row["cupti"] = (loaded / str(os.getpid())).read_text().split("\n")[0]
        row |= in_turn(step, ctypes.CDLL(str(library)))
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"[:300]
    kept.write_text(json.dumps(row))


def in_turn(step: Callable[[], object], shim: Any) -> dict[str, Any]:
    """Return ms a step of each way by round and sample, and the seconds that were added to each."""
    import torch

    shim.slow.argtypes = (ctypes.c_char_p, ctypes.c_double)
    shim.added_ns.restype = ctypes.c_int64

    def sample(count: int) -> float:
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            step()
        torch.cuda.synchronize()
        return (time.perf_counter() - start) * 1e3 / count

    once = min(sample(1) for _ in range(3))
    count = max(1, min(math.ceil(SAMPLE_S * 1e3 / once), 5000))
    ways = {"usual": b"none", **{name: kind.encode() for name, kind in KINDS.items()}}
    values: dict[str, list[list[float]]] = {way: [] for way in ways}
    added = dict.fromkeys(ways, 0.0)
    samples = SAMPLES if once < 500 else 1
    for _ in range(ROUNDS if once < 500 else 3):
        for way, kind in ways.items():
            before = shim.added_ns()
            shim.slow(kind, sensitivity.SLOWER - 1)
            values[way].append([sample(count) for _ in range(samples)])
            shim.slow(b"none", 0.0)
            added[way] += (shim.added_ns() - before) / 1e9
    return {"steps": count, "ms": values, "added_s": added}


def graded(row: dict[str, Any]) -> dict[str, Any]:
    """Return a twin's sensitivities, and what came of its cause's predictions."""
    rounds = {way: dict(enumerate(each)) for way, each in row["ms"].items()}
    found = {
        name: sensitivity.INTERVENTIONS[name].sensitivity(
            statistics.ratio(rounds[name], rounds["usual"])
        )
        for name in KINDS
    }
    of = cause(row["name"], row["twin"])
    verdict = sensitivity.judged(of, found)
    others = (sensitivity.judged(each, found) for each in sensitivity.of_time())
    return {
        "cause": of,
        "sensitivities": {
            name: [round(each, 3) for each in (i.value, i.low, i.high)] for name, i in found.items()
        },
        "outcomes": {
            " or ".join(test.prediction.interventions): test.outcome for test in verdict.tests
        },
        "borne_out": verdict.is_borne_out,
        "all_borne_out": [each.cause for each in others if each.is_borne_out],
    }


def grade(file: Path) -> None:
    """Print each twin's outcomes, and how many of the decided predictions came true."""
    rows = json.loads(file.read_text())
    outcomes: list[str] = []
    for row in rows:
        if "ms" in row:
            row["graded"] = graded(row)
            outcomes += row["graded"]["outcomes"].values()
            cells = [f"{100 * each[0]:5.0f}" for each in row["graded"]["sensitivities"].values()]
            head = f"{row['name'].partition('/')[2]:32} {row['twin']:8} {row['graded']['cause']:18}"
            kept = row["graded"]["outcomes"].items()
            print(head, *cells, "", *(f"{name}: {each}" for name, each in kept))
        else:
            print(f"{row['name'].partition('/')[2]:32} {row['twin']:8} {row['error']}")
    file.write_text(json.dumps(rows, indent=1) + "\n")
    agree, disagree = outcomes.count("agrees"), outcomes.count("disagrees")
    share = 100 * agree / max(agree + disagree, 1)
    print(f"columns: % of {', '.join(KINDS)}")
    print(f"{agree} of {agree + disagree} decided predictions agree ({share:.0f} %),", end=" ")
    print(f"{outcomes.count('undecided')} undecided, of {len(rows)} twins")


def main() -> None:
    """Record or grade."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("record", "grade"))
    parser.add_argument("file", type=Path)
    parser.add_argument("family", nargs="*", default=["timeline"])
    asked = parser.parse_args()
    if asked.what == "record":
        record(asked.file, asked.family)
    grade(asked.file)


if __name__ == "__main__":
    main()
