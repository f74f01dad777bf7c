"""Send tokens to 8 experts on 2 GPUs and back, 4 layers; the specimen's hot experts share a GPU.

Work: 16,384 tokens of 1,024 bf16 words, half of them on each GPU; in each of 4 layers every token
goes to one of 8 experts (two products, 65,536 words between them), and back. Four experts are hot,
other ones in each layer, and get three times as many tokens as the others.

Gives it away: NCCL's all-to-all back from the experts lasts long on one GPU and is short on the
other, in turn, and the kernels before it have larger grids on the other.
Quiet: the all-to-all there, before which both have the same work; few bytes are sent; the host is
far ahead.

Healthy: each GPU has two of each layer's hot experts, and as many tokens as the other.
"""

import torch
from peers import GPUS, all_to_all, check, wait_for_all
from specimen import Inputs, Specimen, Step
from torch import Tensor

EXPERTS, LAYERS = 8, 4
HOT, COLD = 3, 1
"""Sixteenths of a GPU's tokens that a hot expert gets, and another one."""
PLACES = {"sick": ((0, 1, 2, 3), (4, 5, 6, 7)), "healthy": ((0, 1, 4, 5), (2, 3, 6, 7))}
"""The experts of each GPU. Hot are the first four, and in every second layer the last four."""


def inputs(device: str, tokens: int, width: int, hidden: int) -> Inputs:
    """Return tokens, the experts' weights, and each layer's expert of each token."""
    up = torch.randn(EXPERTS, width, hidden, device=device, dtype=torch.bfloat16)
    down = torch.randn(EXPERTS, hidden, width, device=device, dtype=torch.bfloat16)
    shard = tokens // GPUS
    experts = torch.empty(LAYERS, tokens, dtype=torch.int64)
    for layer in range(LAYERS):
        sixteenths = torch.tensor([HOT] * 4 + [COLD] * 4).roll(layer % 2 * 4)
        chosen = torch.arange(EXPERTS).repeat_interleave(sixteenths * shard // 16)
        experts[layer] = torch.cat([chosen[torch.randperm(shard)] for _ in range(GPUS)])
    return {
        "tokens": torch.randn(tokens, width, device=device, dtype=torch.bfloat16),
        "up": up.mul_(width**-0.5),
        "down": down.mul_((2 / hidden) ** 0.5),
        "experts": experts.to(device),
    }


class Route:
    """A layer's way of the tokens: from their order on each GPU to that of the experts, and back.

    ``rows[source][target]`` tokens go from GPU to GPU; ``pieces`` has, for each target, expert and
    number of the tokens that arrive, in their order.
    """

    def __init__(self, experts: Tensor, places: tuple[tuple[int, ...], ...]) -> None:
        rank = torch.tensor([sum(places, ()).index(each) for each in range(EXPERTS)])
        self.there, self.back, counts = [], [], []
        for gpu, mine in enumerate(experts.cpu().chunk(GPUS)):
            order = torch.argsort(rank[mine], stable=True)
            self.there.append(order.to(f"cuda:{gpu}"))
            self.back.append(torch.argsort(order).to(f"cuda:{gpu}"))
            counts.append(torch.bincount(mine, minlength=EXPERTS).tolist())
        self.rows = [[sum(count[each] for each in place) for place in places] for count in counts]
        self.returned = [list(each) for each in zip(*self.rows, strict=True)]
        self.pieces = [[(e, count[e]) for count in counts for e in place] for place in places]


class Gpu:
    """The experts of one GPU, and memory for the tokens on their way."""

    def __init__(self, number: int, inputs: Inputs, place: tuple[int, ...]) -> None:
        device = f"cuda:{number}"
        self.number = number
        self.weights = {
            each: (inputs["up"][each].to(device), inputs["down"][each].to(device)) for each in place
        }
        self.tokens = inputs["tokens"].chunk(GPUS)[number].to(device)
        self.sent, self.returned, self.out = (torch.empty_like(self.tokens) for _ in range(3))
        whole = torch.empty_like(inputs["tokens"], device=device)
        self.received, self.made = whole, torch.empty_like(whole)
        most, hidden = len(self.tokens) * HOT // 16, inputs["up"].shape[2]
        self.between = torch.empty(most, hidden, device=device, dtype=whole.dtype)

    def compute(self, pieces: list[tuple[int, int]]) -> None:
        """Run the experts on the tokens that arrived."""
        start = 0
        for expert, count in pieces:
            up, down = self.weights[expert]
            rows, between = slice(start, start + count), self.between[:count]
            torch.mm(self.received[rows], up, out=between).relu_()
            torch.mm(between, down, out=self.made[rows])
            start += count


def routed(twin: str, inputs: Inputs) -> Step:
    """Return a step whose result is the tokens after all layers."""
    check()
    places = PLACES[twin]
    gpus = [Gpu(number, inputs, place) for number, place in enumerate(places)]
    routes = [Route(experts, places) for experts in inputs["experts"]]
    result = torch.empty_like(inputs["tokens"])

    def select(gpu: Gpu, tokens: Tensor, order: list[Tensor], out: Tensor) -> None:
        with torch.cuda.device(gpu.number):
            torch.index_select(tokens, 0, order[gpu.number], out=out)

    def step() -> Tensor:
        for layer, route in enumerate(routes):
            for gpu in gpus:
                select(gpu, gpu.out if layer else gpu.tokens, route.there, gpu.sent)
            all_to_all([g.sent for g in gpus], [g.received for g in gpus], route.rows)
            for gpu in gpus:
                with torch.cuda.device(gpu.number):
                    gpu.compute(route.pieces[gpu.number])
            made = [gpu.made[: sum(count for _, count in route.pieces[gpu.number])] for gpu in gpus]
            all_to_all(made, [g.returned for g in gpus], route.returned)
            for gpu in gpus:
                select(gpu, gpu.returned, route.back, gpu.out)
        for part, gpu in zip(result.chunk(GPUS), gpus, strict=True):
            part.copy_(gpu.out)
        wait_for_all()
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the tokens after all layers on one GPU."""
    tokens = inputs["tokens"]
    for experts in inputs["experts"]:
        made = torch.empty_like(tokens)
        for expert in range(EXPERTS):
            mine = experts == expert
            between = torch.mm(tokens[mine], inputs["up"][expert]).relu_()
            made[mine] = torch.mm(between, inputs["down"][expert])
        tokens = made
    return tokens


SPECIMEN = Specimen(
    inputs,
    routed,
    reference,
    tolerance=3e-2,
    sizes={"tokens": 16384, "width": 1024, "hidden": 65536},
    small={"tokens": 32, "width": 8, "hidden": 16},
)
