"""Makes a runner ready for a load: runs all kernels once, and captures its steps as CUDA graphs."""

import statistics

import torch
from workloads.engine.model import How
from workloads.engine.pack import Form, padding
from workloads.engine.runner import PROMPTS, Graph, Runner

FEW = 16
"""Decodes up to which matrix products only read weights: the fused kernels are made for them."""
REPLAYS = 7
"""Timed replays of a step whose median chooses the form of its products."""
MOST_CAPTURED = 512
"""Token budget up to which steps with prompts are captured, one graph for each batch of decodes:
beyond it their matrices alone (22 µs a token on an H200) keep the device longer than the host takes
to launch them (10 to 12 ms)."""


def capture(runner: Runner) -> None:
    """Run every kernel once, and capture the steps that the options name; nothing on a CPU."""
    if not runner.cuda:
        return
    warm(runner)
    batches = sorted(runner.options.graph_batches, reverse=True)
    pool, budget = torch.cuda.graph_pool_handle(), runner.options.token_budget
    if runner.options.mixed_graphs and runner.options.chunked and budget <= MOST_CAPTURED:
        for rows in batches:
            if rows <= budget:
                form = Form(rows + PROMPTS, budget, rows, budget)
                runner.mixed[rows] = _captured(runner, form, pool)
    for rows in batches:
        runner.graphs[rows] = _captured(runner, Form(rows, rows, rows, 0), pool)
    if runner.model.fusible:
        _fuse(runner, [rows for rows in batches if rows <= FEW], pool)


def warm(runner: Runner) -> None:
    """Run steps of decodes, of prompts and of both, of few tokens and of many, on padding.

    So every form of the engine's kernels is compiled and loaded before a load begins, and those of
    cuBLAS, which it chooses by the number of tokens, for numbers near each that a load can need.
    """
    most = runner.options.token_budget
    sizes = {1 << power for power in range(most.bit_length())}
    for tokens in sorted(sizes | {-(-most * part // 16) for part in range(1, 17)}):
        rows = min(tokens, runner.options.most_running)
        forms = [Form(rows, rows, rows, 0), Form(1, tokens, 0, tokens)]
        for form in (*forms, Form(2, tokens + 1, 1, tokens)):
            runner.sample(runner.inputs(torch.from_numpy(padding(form)).to(runner.device), form))


def _captured(runner: Runner, form: Form, pool: tuple[int, int]) -> Graph:
    numbers = torch.from_numpy(padding(form)).to(runner.device)
    inputs = runner.inputs(numbers, form)
    for _ in range(2):
        runner.sample(inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        tokens = runner.sample(inputs)
    return Graph(form, numbers, graph, tokens, runner.model.forms)


def _fuse(runner: Runner, batches: list[int], pool: tuple[int, int]) -> None:
    """Capture steps of few decodes with fused products, too; the faster of both stays."""
    tuned = {few: _tuned(runner, few, pool) for few in {max(8, rows) for rows in batches}}
    for rows in batches:
        runner.model.forms = tuned[max(8, rows)]
        both = _captured(runner, runner.graphs[rows].form, pool), runner.graphs[rows]
        runner.graphs[rows] = min(both, key=_replay_ms)
    runner.model.forms = {}


def _tuned(runner: Runner, rows: int, pool: tuple[int, int]) -> dict[str, How]:
    """Return how each matrix's fused product takes least of a step, the others as they are."""
    from workloads.engine.kernels import FORMS, MATRICES

    best, form = dict.fromkeys(MATRICES, FORMS[0]), Form(rows, rows, rows, 0)
    for name in MATRICES:
        medians = {}
        for how in FORMS:
            runner.model.forms = best | {name: how}
            medians[how] = _replay_ms(_captured(runner, form, pool))
        best[name] = min(medians, key=medians.__getitem__)
    return best


def _replay_ms(of: Graph) -> float:
    """Return the device's ms of a replay, the median of several."""
    times = []
    for _ in range(REPLAYS + 1):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        of.graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times[1:])
