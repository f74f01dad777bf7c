"""The tuner's candidates timed in the stack: to choose by, and to judge the tuner's own ranking."""

import random
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from autotuners import candidates, tuned, without_copies
from layers import Stack, relative_error, replayed
from ranking import Candidate, Choices
from torch import Tensor

_TUNINGS = 3  # repeated, with the copies and without: does the tuner choose the same again?
_TURNS = 12  # in each, every candidate's step is replayed so many times, in an order of its own
_REPLAYS = 10


def choose(stack: Stack, x: Tensor, tuner: Any) -> None:
    """Let the tuner hold the candidate that is fastest in the stack."""
    (key,) = tuner.cache
    configs = candidates(tuner)
    times = in_stack(stack, x, tuner, configs)
    tuner.cache[key] = configs[times.index(min(times))]


def in_stack(stack: Stack, x: Tensor, tuner: Any, configs: list[Any]) -> list[float]:
    """Return the median µs of a layer under each configuration, replayed from a CUDA graph.

    That is what a decoder's step pays: weights from memory, no host between two layers.
    """
    (key,) = tuner.cache
    steps = []
    for config in configs:
        tuner.cache[key] = config  # what Triton looks up at every call
        step = replayed(lambda: stack.forward(x))
        relative_error(step(), x, stack.dense)
        steps.append(step)
    times: list[list[float]] = [[] for _ in configs]
    for _ in range(_TURNS):
        for index in random.sample(range(len(steps)), len(steps)):
            times[index].append(_replay_us(steps[index]) / len(stack.layers))
    return [median(each) for each in times]


def compare(stack: Stack, x: Tensor, tuner: Any) -> tuple[list[Candidate], Choices]:
    """Return the candidates with their times, and which one each tuning chose.

    The first tuning is the one that the tuner holds, and it holds that again afterwards.
    """
    (key,) = tuner.cache
    first, configs = tuner.cache[key], candidates(tuner)
    by_tuner = _times_us(tuner)
    chosen = [_name(first), *_again(stack, x, tuner)]
    repeated = _times_us(tuner)
    hooks = tuner.pre_hook, tuner.post_hook
    without_copies(tuner)
    chosen_uncopied = _again(stack, x, tuner)
    uncopied = _times_us(tuner)
    tuner.pre_hook, tuner.post_hook = hooks
    alone = in_stack(stack, x, tuner, configs)
    tuner.cache[key] = first
    names = [_name(config) for config in configs]
    ranked = [
        Candidate(config.all_kwargs(), by_tuner[name], repeated[name], uncopied[name], us)
        for config, name, us in zip(configs, names, alone, strict=True)
    ]
    place = {name: index for index, name in enumerate(names)}
    return ranked, {
        "tuner": [place[name] for name in chosen],
        "uncopied": [place[name] for name in chosen_uncopied],
    }


def _times_us(tuner: Any) -> dict[str, float]:
    """Return the time of each candidate in the last tuning."""
    return {_name(config): 1e3 * times[0] for config, times in tuner.configs_timings.items()}


def _again(stack: Stack, x: Tensor, tuner: Any) -> list[str]:
    """Let the tuner choose several times; return its choices."""
    chosen = []
    for _ in range(_TUNINGS):
        tuned(lambda: stack.layers[0](x), tuner)
        (config,) = tuner.cache.values()
        chosen.append(_name(config))
    return chosen


def _replay_us(step: Callable[[], Tensor]) -> float:
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    for _ in range(_REPLAYS):
        step()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) * 1e3 / _REPLAYS


def _name(config: Any) -> str:
    """Return a name that is the same for an equal configuration: its hook is another object."""
    return repr(sorted(config.all_kwargs().items()))
