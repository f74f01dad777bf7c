"""Pass a batch 4 times through layers on two GPUs in turn; the specimen's batch is one piece.

Work: 4,096 rows of 8,192 bf16 words, 4 passes through 8 products, of which the first 4 are on one
GPU and the last 4 on the other. A pass needs the result of the one before, as a decoder's token
does.

Gives it away: the GPUs' kernels alternate: while one GPU computes, the other one waits for the copy
of its result.
Quiet: the host has launched all of it long before; copies between the GPUs are short; there are no
collectives.

Healthy: the batch goes through in 4 pieces, so that each GPU has one while the other computes.
"""

import torch
from peers import GPUS, check, wait_for_all
from specimen import Inputs, Specimen, Step
from torch import Tensor

PASSES, LAYERS, PIECES = 4, 4, 4


def inputs(device: str, rows: int, side: int) -> Inputs:
    """Return a batch, and the weights of all layers."""
    weights = torch.randn(GPUS * LAYERS, side, side, device=device, dtype=torch.bfloat16)
    return {
        "batch": torch.randn(rows, side, device=device, dtype=torch.bfloat16),
        "weights": weights / side**0.5,
    }


class Stage:
    """The layers of one GPU, which compute on its current stream, and streams to send on."""

    def __init__(self, number: int, weights: Tensor, pieces: tuple[Tensor, ...]) -> None:
        device = f"cuda:{number}"
        self.number = number
        self.weights = [weight.to(device) for weight in weights]
        self.received, self.odd, self.even = (
            [torch.empty_like(piece, device=device) for piece in pieces] for _ in range(3)
        )
        self.own, self.other = (torch.cuda.Stream(each) for each in (number, 1 - number))

    def compute(self, piece: int) -> None:
        """Run the layers on a piece; ``even`` holds the result."""
        with torch.cuda.device(self.number):
            made = self.received[piece]
            for layer, weight in enumerate(self.weights):
                made = torch.mm(made, weight, out=(self.even if layer % 2 else self.odd)[piece])

    def send(self, piece: int, target: "Stage") -> torch.cuda.Event:
        """Copy a piece's result to the other stage; return the event of its arrival."""
        self.own.wait_stream(torch.cuda.current_stream(self.number))
        with torch.cuda.stream(self.other), torch.cuda.stream(self.own):
            target.received[piece].copy_(self.even[piece], non_blocking=True)
        return self.other.record_event()


def passed(twin: str, inputs: Inputs) -> Step:
    """Return a step whose result is the batch after all passes."""
    check()
    pieces = inputs["batch"].chunk(1 if twin == "sick" else PIECES)
    weights = inputs["weights"].chunk(GPUS)
    stages = [Stage(number, weights[number], pieces) for number in range(GPUS)]
    result = torch.empty_like(inputs["batch"])
    results = result.chunk(len(pieces))

    def step() -> Tensor:
        for received, piece in zip(stages[0].received, pieces, strict=True):
            received.copy_(piece)
        arrived: dict[int, torch.cuda.Event] = {}
        for _ in range(PASSES):
            for stage, following in zip(stages, reversed(stages), strict=True):
                for piece in range(len(pieces)):
                    if piece in arrived:
                        torch.cuda.current_stream(stage.number).wait_event(arrived[piece])
                    stage.compute(piece)
                    arrived[piece] = stage.send(piece, following)
        for piece, part in enumerate(results):
            torch.cuda.current_stream(0).wait_event(arrived[piece])
            part.copy_(stages[0].received[piece])
        wait_for_all()
        return result

    return step


def reference(inputs: Inputs) -> Tensor:
    """Return the batch after all passes on one GPU."""
    made = inputs["batch"]
    for _ in range(PASSES):
        for weight in inputs["weights"]:
            made = torch.mm(made, weight)
    return made


SPECIMEN = Specimen(
    inputs,
    passed,
    reference,
    tolerance=5e-2,
    sizes={"rows": 4096, "side": 8192},
    small={"rows": 8, "side": 8},
)
