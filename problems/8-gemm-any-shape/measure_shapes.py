"""Check and time the kernels on many shapes, on one GPU, within a time limit; resumable.

    python measure_shapes.py --out results --limit-s 140                  # check, then time
    python measure_shapes.py --out results --limit-s 60 --only check
    python measure_shapes.py --out results --only time --alone --set tuning --layouts nn nt tn tt

Workers do the work, one problem at a time, and say before each kernel what they run. A worker that
falls silent or ends is replaced, and what it ran last is left out from then on. Every row is
written as soon as it is measured; a second start with the same ``--out`` goes on where the first
ended. When the time is over it says what it did not reach.
"""

import argparse
import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from cubins import CACHE
from families import LAYOUTS
from ladder import ELEMENTS, Shape
from measuring import WATCHED, shape_argument
from plans import Problem, describe
from pooled import BATCH_MS, FINAL_ROUNDS
from shape_sets import ODD, SEED, SETS, in_turn
from summary import BESIDE, summary

HERE = Path(__file__).resolve().parent
LOG = "workers.txt"
"""What the workers print otherwise; the harness keeps a cell's log.txt itself."""
NAMED = 12
"""Problems that were not reached and are named."""
START_S = 90.0
"""How long a worker may take to import torch and fill its pool."""
STARTS = 3
"""Workers that fail to start, one after the other, before there is no other."""


THE_START = "the start"


class SilentError(Exception):
    """A worker ended or fell silent; the message is the last that it said."""

    @property
    def starting(self) -> bool:
        """Whether it said nothing at all."""
        return str(self) == THE_START


class Worker:
    """A process of measuring.py, and what it printed."""

    def __init__(self, options: dict[str, Any], log: Path) -> None:
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._log = log.open("a", encoding="utf-8")
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "measuring.py"), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,
            cwd=HERE,
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._limit = START_S

    def ask(self, problem: Problem, silence_s: float, until: float) -> list[dict[str, Any]]:
        """Return the rows of a problem; ``SilentError`` if the worker does not finish it."""
        rows, last = [], THE_START
        try:
            print(describe(problem), file=self._process.stdin, flush=True)
        except BrokenPipeError:
            raise SilentError(last) from None
        while True:
            limit = min(self._limit, until - time.monotonic())
            try:
                line = self._lines.get(timeout=max(limit, 0.01))
            except queue.Empty:
                raise SilentError(last) from None
            if line is None:
                raise SilentError(last)
            self._limit = silence_s
            if line.startswith("ROW "):
                rows.append(json.loads(line.removeprefix("ROW ")))
            elif line == f"{WATCHED}the next problem":
                return rows
            elif line.startswith(WATCHED):
                last = line.removeprefix(WATCHED)
            else:
                print(line, file=self._log, flush=True)

    def end(self) -> None:
        """End the process with all that it started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        for file in (self._process.stdin, self._process.stdout, self._log):
            if file:
                with contextlib.suppress(BrokenPipeError):  # a line that nobody read
                    file.close()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line.rstrip("\n"))
        self._lines.put(None)


class Session:
    """Problems handed to workers until the time is over; what failed is avoided by all."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._until = time.monotonic() + options.limit_s
        self._out = options.out
        self._out.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        self.avoided: set[str] = set(_lines(self._out / "avoided.txt"))
        self._failed_starts = 0
        self.left: list[str] = []
        """Problems that the last ``time`` did not reach."""

    def serve(self, kind: str, problems: Iterable[Problem]) -> None:
        """Measure problems one after the other with one worker, replaced when it fails.

        SystemExit if no worker starts.
        """
        worker: Worker | None = None
        for problem in problems:
            for _ in range(3):
                if time.monotonic() > self._until:
                    break
                worker = worker or self._worker(kind)
                try:
                    self._keep(
                        kind, problem, worker.ask(problem, self._options.silence_s, self._until)
                    )
                except SilentError as error:
                    worker.end()
                    worker = None
                    self._count(error)
                    self._avoid(problem, str(error))
                else:
                    self._failed_starts = 0
                    break
        if worker:
            worker.end()

    def time(self, shapes: Sequence[Shape], layouts: Sequence[str]) -> None:
        """Time shapes in layouts, as many as the time allows; ``left`` names the others."""
        problems = [Problem(*each) for each in in_turn(shapes, layouts)]
        done = self.done("time")
        self.serve("time", [problem for problem in problems if describe(problem) not in done])
        done = self.done("time")
        self.left = [name for name in map(describe, problems) if name not in done]

    def check(self, problems: list[Problem]) -> None:
        """Check problems with several workers at once."""
        jobs = self._options.jobs
        with ThreadPoolExecutor(jobs) as pool:
            list(pool.map(partial(self.serve, "check"), (problems[at::jobs] for at in range(jobs))))

    def done(self, kind: str) -> set[str]:
        """Return the problems that earlier starts measured."""
        return {row["problem"] for row in self.rows(kind)}

    def rows(self, kind: str) -> list[dict[str, Any]]:
        """Return all rows of a kind."""
        return [json.loads(line) for line in _lines(self._out / f"{kind}.jsonl")]

    def _worker(self, kind: str) -> Worker:
        options = self._options
        told = {"element": options.element, "cache": str(options.cache), "most": options.most}
        told |= {"batch_ms": options.batch_ms, "rest_ms": options.rest_ms}
        told |= {"finals": options.finals}
        told |= {"beside": options.beside, "alone": options.alone}
        told |= {"check": kind == "check", "avoided": sorted(self.avoided)}
        return Worker(told, self._out / LOG)

    def _keep(self, kind: str, problem: Problem, rows: list[dict[str, Any]]) -> None:
        with self._lock, (self._out / f"{kind}.jsonl").open("a", encoding="utf-8") as file:
            for row in rows or [{"kind": kind}]:
                print(json.dumps({"problem": describe(problem)} | row), file=file)
        wrong = [row for row in rows if row.get("wrong")]
        for row in wrong:
            print(f"WRONG {describe(problem)} {row['plan']}: {row['wrong']}", flush=True)

    def _count(self, error: SilentError) -> None:
        """Count failed starts; SystemExit, with the end of the log, when they are too many."""
        if not error.starting or time.monotonic() > self._until:
            return
        self._failed_starts += 1
        if self._failed_starts >= STARTS:
            log = self._out / LOG
            raise SystemExit(f"no worker starts; {log} ends: {''.join(_lines(log)[-1:])}")

    def _avoid(self, problem: Problem, last: str) -> None:
        """Note what a worker ran when it failed; the second word names a step, "-" names none."""
        if time.monotonic() > self._until:
            return
        print(f"ENDED {describe(problem)} at: {last}", flush=True)
        words = last.split()
        if len(words) != 3 or words[1] == "-" or words[1] in self.avoided:
            return
        with self._lock, (self._out / "avoided.txt").open("a", encoding="utf-8") as file:
            self.avoided.add(words[1])
            print(words[1], file=file)


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


def arguments() -> argparse.Namespace:
    """Return the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of rows, log and failures")
    parser.add_argument("--limit-s", type=float, default=140.0)
    parser.add_argument("--only", choices=("check", "time"), help="default: both")
    parser.add_argument("--set", choices=SETS, default="reported")
    parser.add_argument(
        "--seed", type=int, default=SEED, help="those in shape_sets.TUNED were tuned on"
    )
    parser.add_argument(
        "--shapes",
        nargs="*",
        type=shape_argument,
        default=[],
        help="MxNxK: to time instead of a set, to check beside the odd ones",
    )
    parser.add_argument("--layouts", nargs="*", choices=LAYOUTS, default=["nn"])
    parser.add_argument("--element", choices=ELEMENTS, default="bf16")
    parser.add_argument("--most", type=int, default=14, help="plans timed for a shape")
    parser.add_argument("--batch-ms", type=float, default=BATCH_MS, help="250: sustained clocks")
    parser.add_argument(
        "--rest-ms", type=float, default=0.0, help="idle before each batch; 60, of 4 ms: burst"
    )
    parser.add_argument("--finals", type=int, default=FINAL_ROUNDS, help="rounds of the finals")
    parser.add_argument(
        "--beside", nargs="*", choices=BESIDE, default=[], help="whose products to time, too"
    )
    parser.add_argument(
        "--alone",
        action="store_true",
        help="time the kernels alone and unchecked, which is what fit.py needs",
    )
    parser.add_argument("--jobs", type=int, default=6, help="workers that check at once")
    parser.add_argument("--silence-s", type=float, default=8.0, help="then a worker is ended")
    parser.add_argument("--cache", type=Path, default=CACHE)
    return parser.parse_args()


def main() -> int:
    """Check, time, print a summary."""
    options = arguments()
    session = Session(options)
    begin = time.monotonic()
    if options.only != "time":
        odd = [Problem(*each) for each in in_turn((*ODD, *options.shapes), options.layouts)]
        done = session.done("check")
        session.check([problem for problem in odd if describe(problem) not in done])
        print(f"checked in {time.monotonic() - begin:.0f} s", flush=True)
    if options.only != "check":
        session.time(options.shapes or SETS[options.set](options.seed), options.layouts)
        print(f"not reached: {len(session.left)} {' '.join(session.left[:NAMED])}")
    print(
        f"{time.monotonic() - begin:.0f} s; left out: {' '.join(sorted(session.avoided)) or 'none'}"
    )
    print(summary(session.rows("check"), session.rows("time")))
    return 0


if __name__ == "__main__":
    sys.exit(main())
