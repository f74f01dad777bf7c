"""Time to load and to redraw a timeline page in headless Chromium: 100 000 kernels beside 100.

    python benchmarks/view_load.py [--check]

Both pages are of the same made program, and load from a file, the best of three each. Loaded is a
page whose script has drawn every lane and says that it is ready; redrawn is a zoom by half.
`--check` exits with 1 if the large page takes more than ten times as long to load, for a thousand
times the kernels, or more than a fiftieth of a second to redraw.
"""

import argparse
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from timed import ROOT

sys.path.insert(0, str(ROOT))

from harness.view import document
from tests.support import chromium
from tests.support.programs import US, Program
from tests.support.subjects import subject

SMALL, LARGE = 100, 100_000
MOST_LOAD, MOST_REDRAW_MS = 10, 20
_REDRAW = """
new Promise((done) => {
  const canvas = document.querySelector("canvas");
  let left = 20, start = performance.now();
  const step = () => {
    if (!left--) return done((performance.now() - start) / 20);
    canvas.dispatchEvent(new KeyboardEvent("keydown", { key: left % 2 ? "+" : "-" }));
    requestAnimationFrame(step);
  };
  step();
})
"""


def made(kernels: int, folder: Path) -> Path:
    """Write the page of a program that launches so many kernels; return its file."""
    program = Program()
    for number in range(kernels):
        program.launch((number % 9 + 1) * 10 * US, f"kernel_{number % 40}", stream=7 + number % 4)
    file = folder / f"{kernels}.html"
    made_subject = subject(f"{kernels} kernels", program.tables())
    file.write_text(document.page([made_subject]), encoding="utf-8")
    return file


def measured(file: Path) -> tuple[float, float, float]:
    """Return seconds to first paint and to loaded, and ms to redraw: the best of three tries."""
    tries = []
    with chromium.opened(file) as page:
        for _ in range(3):
            start = time.perf_counter()
            page.open(file, 1600, 900)
            loaded = time.perf_counter() - start
            paint = page.wait_for("performance.getEntriesByName('first-paint')[0]?.startTime")
            tries.append((paint / 1e3, loaded, page.evaluate(_REDRAW)))
    paints, loads, redraws = zip(*tries, strict=True)
    return min(paints), min(loads), min(redraws)


def main() -> int:
    """Print the times of both pages and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    loads, redraw = [], 0.0
    with TemporaryDirectory() as folder:
        for kernels in (SMALL, LARGE):
            file = made(kernels, Path(folder))
            paint, load, redraw = measured(file)
            loads.append(load)
            print(
                f"{kernels} kernels, {file.stat().st_size / 1e6:.2f} MB: first paint {paint:.2f} s,"
                f" loaded {load:.2f} s, redrawn in {redraw:.1f} ms"
            )
    ratio = loads[1] / loads[0]
    print(f"load: {ratio:.1f} times as long")
    return int(check and (ratio > MOST_LOAD or redraw > MOST_REDRAW_MS))


if __name__ == "__main__":
    sys.exit(main())
