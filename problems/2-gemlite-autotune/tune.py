"""The tuning process: ``tune.py REQUEST RECORD``, or, to compile ahead, ``tune.py REQUEST WORKER``.

Started by tuning.py. REQUEST is JSON; RECORD is the path of the result.
"""

import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from autotuners import autotuner, first_call, ready
from clean import candidates
from layers import activations, build
from selection import share, tuned
from tuning import Request, script, write


def main() -> None:
    """Tune, or compile a share ahead."""
    request: Request = json.loads(sys.argv[1])
    with torch.inference_mode():
        if sys.argv[2].isdigit():
            compile_share(request, int(sys.argv[2]))
        else:
            write(Path(sys.argv[2]), tune(request))


def tune(request: Request) -> dict[str, Any]:
    """Return the configurations in GemLite's own format, and the measurements behind each."""
    start = time.perf_counter()
    compile_ahead(request)
    ahead = time.perf_counter() - start
    gemlite, bits, k = ready(_mode(request)), request["bits"], request["k"]
    layer = build(bits, request["n"], k, "cuda")
    points = {str(m): first_call(layer, m, k, bits) for m in request["ms"]}
    record: dict[str, Any] = {"request": request, "points": points, "ahead_seconds": ahead}
    if request["mode"] == "clean":
        (m,) = request["ms"]
        ranked, choices = candidates(layer, m, k, bits)
        record |= {"candidates": [asdict(each) for each in ranked], "choices": choices}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "configs.json"
        gemlite.cache_config(str(path))
        record["configs"] = json.loads(path.read_text(encoding="utf-8"))
    return record


def compile_ahead(request: Request) -> None:
    """Let processes compile every candidate side by side; their times are discarded.

    A candidate that fails to compile is left to the tuner, which skips it or fails.
    """
    calls = [script(sys.argv[1], str(number)) for number in range(request["workers"])]
    for process in [subprocess.Popen(call) for call in calls]:
        process.wait()


def compile_share(request: Request, worker: int) -> None:
    """Compile every n-th candidate of every M that is tuned."""
    bits, k = request["bits"], request["k"]
    ready(_mode(request))
    layer = build(bits, request["n"], k, "cuda")
    for index, m in enumerate(tuned(request["ms"], bits)):
        with only(autotuner(m, bits), share(index, worker, request["workers"])):
            layer.forward(activations(m, k, "cuda"))
    torch.cuda.synchronize()


class _NothingLeft(Exception):  # noqa: N818 - it ends no work, there is none
    """A share without a candidate; the tuner asks for at least one."""


@contextlib.contextmanager
def only(tuner: Any, part: slice) -> Iterator[None]:
    """Let the tuner see a part of its candidates, and call each once instead of timing it."""
    prune = tuner.early_config_prune

    def pruned(configs: Any, named: Any, **arguments: Any) -> list[Any]:
        remaining = list(prune(configs, named, **arguments))[part]
        if not remaining:
            raise _NothingLeft
        return remaining

    def called(call: Any, quantiles: Any) -> list[float]:  # noqa: ARG001 - Triton's name
        call()
        return [0.0, 0.0, 0.0]

    tuner.early_config_prune, tuner._do_bench = pruned, called
    try:
        with contextlib.suppress(_NothingLeft):
            yield
    finally:
        tuner.early_config_prune = prune


def _mode(request: Request) -> str:
    """Return GemLite's mode: the clean ranking is one of the candidates of "fast"."""
    return "fast" if request["mode"] == "clean" else request["mode"]


if __name__ == "__main__":
    main()
