"""The tuner's candidates ranked again: by the tuner without its copies, and each in the stack."""

import math
from statistics import median
from typing import Any

from autotuners import forget, without_copies
from layers import Forward, Stack, relative_error
from ranking import Candidate, Choices
from torch import Tensor

from harness.probe.paired import Run, interleaved
from harness.probe.power import Monitor

_TUNINGS = 3  # repeated, with the copies and without: does the tuner choose the same again?
_TURNS = 12


def candidates(stack: Stack, x: Tensor, tuner: Any) -> tuple[list[Candidate], Choices]:
    """Return the candidates with their times, and which one each tuning chose.

    The stack's weights exceed the L2 cache, and its calls are replayed from a CUDA graph: that is
    what a decoder's step pays for a candidate. Afterwards the tuner holds its first choice.
    """
    (key,) = tuner.cache
    first, as_tuned = tuner.cache[key], tuner.configs_timings
    chosen = [_name(first), *_again(stack.layers[0], x, tuner)]
    hooks = tuner.pre_hook, tuner.post_hook
    without_copies(tuner)
    chosen_uncopied = _again(stack.layers[0], x, tuner)
    uncopied = {_name(config): times[0] for config, times in tuner.configs_timings.items()}
    tuner.pre_hook, tuner.post_hook = hooks
    runnable = [config for config, times in as_tuned.items() if math.isfinite(times[0])]
    alone = _alone(stack, x, tuner, key, runnable)
    tuner.cache[key] = first
    stack.layers[0](x)  # the last launch is the choice's again
    ranked = [
        Candidate(
            config.all_kwargs(),
            1e3 * as_tuned[config][0],
            1e3 * uncopied[_name(config)],
            alone[index],
        )
        for index, config in enumerate(runnable)
    ]
    place = {_name(config): index for index, config in enumerate(runnable)}
    return ranked, {
        "tuner": [place[name] for name in chosen],
        "uncopied": [place[name] for name in chosen_uncopied],
    }


def _again(layer: Forward, x: Tensor, tuner: Any) -> list[str]:
    """Let the tuner tune anew, several times; return its choices."""
    chosen = []
    for _ in range(_TUNINGS):
        forget(tuner)
        layer(x)
        (config,) = tuner.cache.values()
        chosen.append(_name(config))
    return chosen


def _alone(stack: Stack, x: Tensor, tuner: Any, key: Any, configs: list[Any]) -> list[float]:
    """Return the median µs of a layer with each configuration; all take turns."""
    runs = {str(index): _run(tuner, key, config, x) for index, config in enumerate(configs)}
    for run in runs.values():
        relative_error(run(stack.layers[-1]), x, stack.dense)
    turns = interleaved(runs, [(layer,) for layer in stack.layers], _TURNS, Monitor())
    return [median(turns[name].us) for name in runs]


def _run(tuner: Any, key: Any, config: Any, x: Tensor) -> Run:
    """Return the call of a layer under ``config``."""

    def run(layer: Forward) -> Tensor:
        tuner.cache[key] = config  # what Triton looks up at every call
        return layer(x)

    return run


def _name(config: Any) -> str:
    """Return a name that is the same for an equal configuration: its hook is another object."""
    return repr(sorted(config.all_kwargs().items()))
