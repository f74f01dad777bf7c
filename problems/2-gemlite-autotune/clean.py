"""The tuner's candidates ranked again: without its copies, and each alone through the layer."""

import math
from statistics import median
from typing import Any

from autotuners import autotuner, ran, without_copies
from layers import Layer, activations, relative_error
from ranking import Candidate, Choices

from harness.probe import timing

_TUNINGS = 5  # with the copies and without: does the tuner choose the same again?
_PASSES = 3  # in alternating order, so that a drift does not look like a ranking
_SAMPLING = {"steps": 1, "samples": 40, "half_width": 0.0, "seconds": 2.0}


def candidates(layer: Layer, m: int, k: int, bits: int) -> tuple[list[Candidate], Choices]:
    """Return the tuner's candidates for ``m``, timed cleanly, and its choice at each tuning.

    Afterwards the tuner holds the candidate that is fastest with a cold L2 cache.
    """
    tuner, x = autotuner(m, bits), activations(m, k, "cuda")
    (key,) = tuner.cache
    as_tuned = tuner.configs_timings
    chosen = [_name(tuner.cache[key]), *_again(layer, x, tuner, key)]
    without_copies(tuner)
    chosen_uncopied = _again(layer, x, tuner, key)
    uncopied = {_name(config): times[0] for config, times in tuner.configs_timings.items()}
    runnable = [config for config, times in as_tuned.items() if math.isfinite(times[0])]
    alone = _alone(layer, x, tuner, key, runnable)
    ranked = [
        Candidate(
            config.all_kwargs(),
            1e3 * as_tuned[config][0],
            1e3 * uncopied[_name(config)],
            1e3 * alone["gpu_time_cold"][index],
            1e3 * alone["gpu_time"][index],
        )
        for index, config in enumerate(runnable)
    ]
    best = min(range(len(ranked)), key=lambda index: ranked[index].cold)
    tuner.cache[key] = runnable[best]
    place = {_name(config): index for index, config in enumerate(runnable)}
    return ranked, {
        "tuner": [place[name] for name in chosen],
        "uncopied": [place[name] for name in chosen_uncopied],
    }


def _again(layer: Layer, x: Any, tuner: Any, key: Any) -> list[str]:
    """Let the tuner tune anew, several times; return its choices."""
    chosen = []
    for _ in range(_TUNINGS):
        del tuner.cache[key]
        layer.forward(x)
        chosen.append(_name(tuner.cache[key]))
    return chosen


def _alone(
    layer: Layer, x: Any, tuner: Any, key: Any, configs: list[Any]
) -> dict[str, list[float]]:
    """Return the median ms of the layer's call with each configuration, cold and warm."""
    samples: dict[str, list[list[float]]] = {
        metric: [[] for _ in configs] for metric in ("gpu_time", "gpu_time_cold")
    }
    for number in range(_PASSES):
        order = range(len(configs))
        for index in order if number % 2 == 0 else reversed(order):
            tuner.cache[key] = configs[index]  # what Triton looks up at every call
            relative_error(layer, x)
            for series in timing.series(lambda: layer.forward(x), _SAMPLING, "cuda"):
                if series.metric in samples:
                    samples[series.metric][index] += series.values[series.warmup :]
            if (other := ran(tuner)) != configs[index].all_kwargs():
                raise SystemExit(f"asked for {configs[index]}, but {other} ran")
    return {
        metric: [median(values) for values in by_config] for metric, by_config in samples.items()
    }


def _name(config: Any) -> str:
    """Return a name that is the same for an equal configuration: its hook is another object."""
    return repr(sorted(config.all_kwargs().items()))
