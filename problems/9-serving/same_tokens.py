"""Whether every rung of the ladder makes the tokens that transformers makes, request by request."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import engines
import rivals
import torch
from transformers import PreTrainedModel
from workloads.engine.model import Weights

from harness.probe.cell import Cell
from harness.probe.load.workload import Request

LOUD = 5.0
"""Times which layers' weights are drawn larger, so that they, and not the embedding, decide."""


def run(cell: Cell) -> None:
    """Count, for each rung, the requests whose tokens differ from transformers'."""
    params = cell.params
    with cell.phase("load"):
        weights = loud(engines.weights(params, cell.device))
        made = rivals.model(
            weights.shape, params["most_tokens"], cell.device, weights.embedding.dtype
        )
        rivals.copy(weights, made)
    load = requests(params, weights.shape.vocabulary)
    with cell.phase("generate"):
        wanted = {one.name: tokens(made, one, params["tie"]) for one in load}
    whole = sum(len(wanted[one.name]) == one.most_new for one in load)
    cell.fact("tied", len(load) - whole)
    worst = 0
    for rung, switches in params["rungs"].items():
        with cell.phase(rung):
            got = made_by(weights, {**params, **switches}, load)
        differing = sum(got[name][: len(known)] != known for name, known in wanted.items())
        cell.fact(f"differing.{rung}", differing)
        worst = max(worst, differing)
    cell.fact("differing.worst", worst)


def loud(weights: Weights) -> Weights:
    """Return the weights with their layers scaled up, in place."""
    for layer in weights.layers:
        for matrix in (layer.qkv, layer.out, layer.gate_up, layer.down):
            matrix.mul_(LOUD)
    return weights


def requests(params: Mapping[str, Any], vocabulary: int) -> list[Request]:
    """Return requests of random lengths, a few of which begin alike."""
    drawn = random.Random(params["requests"])  # noqa: S311 - no secrets
    least, most = params["prompt"]
    shared = [drawn.randrange(vocabulary) for _ in range(3 * 16)]
    found = []
    for at in range(params["requests"]):
        own = [drawn.randrange(vocabulary) for _ in range(drawn.randint(least, most))]
        prompt = shared + own if at % 8 == 0 else own
        found.append(Request(str(at), 0, prompt, drawn.randint(*params["output"])))
    return found


def tokens(made: PreTrainedModel, request: Request, tie: float) -> list[int]:
    """Return the greedy tokens of one request alone, up to its first tie.

    A tie: the two highest logits are less than ``tie`` apart. The engine adds numbers in another
    order, so which of the two is higher is nobody's mistake, and all tokens after it may differ.
    """
    out = made.generate(
        torch.tensor([request.prompt], device=made.device),
        attention_mask=torch.ones(1, len(request.prompt), dtype=torch.long, device=made.device),
        max_new_tokens=request.most_new,
        do_sample=False,
        pad_token_id=0,
        eos_token_id=None,
        return_dict_in_generate=True,
        output_logits=True,
    )
    found = []
    for token, logits in zip(out.sequences[0, len(request.prompt) :], out.logits, strict=True):
        first, second = logits[0].float().topk(2).values.tolist()
        if first - second < tie:
            break
        found.append(int(token))
    return found


def made_by(
    weights: Weights, params: Mapping[str, Any], load: Sequence[Request]
) -> dict[str, list[int]]:
    """Return each request's tokens, as an engine with these switches makes them together."""
    runner = engines.runner(weights, params, engines.options(params))
    engine = engines.engine(runner, params)
    for request in load:
        engine.submit(request.name, request.prompt, request.most_new)
    found: dict[str, list[int]] = {request.name: [] for request in load}
    while engine.busy:
        for name, token in engine.step().tokens:
            found[name].append(token)
    return found
