"""Time linear layers of served models: the operator, its plans with dependent launches, cuBLAS.

The cells of the case ``real-layers`` run it. The contenders of a shape are interleaved as those of
the other cases (pooled.py): the operator as it dispatches, its plan with programmatic dependent
launch (PDL), ``torch.mm`` and the candidates of cuBLASLt. Where ``plans.overlaps`` allows PDL, the
first two are the same launches. No L2 holds such weights, and operands rotate, so every launch
reads them from memory; each graph has several launches. Where rows of an operand or of C begin
elsewhere than at multiples of 16 bytes, cuBLAS on padded rows is a contender as well.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import geometric_mean, median
from typing import Any

from cubins import CACHE
from cublaslt_pool import Pool
from general import Library
from ladder import ELEMENT_BYTES, Run, Shape, prepare
from measuring import Reference, oriented, torch_product
from multiplier import Multiplier
from plans import CHUNK, Problem, describe
from pool import LAUNCHES, OperandPool, Operands
from pooled import Regime, contest
from shape_sets import tuning
from summary import is_library

Row = dict[str, Any]
Series = list[float]

LAYERS = {
    "DeepSeek-V3": ((7168, 16384), (36864, 7168), (7168, 18432)),
    "Llama 3 70B": ((10240, 8192), (8192, 8192), (57344, 8192), (8192, 28672)),
    "Llama 3 405B": ((18432, 16384), (16384, 16384)),
    "Qwen3 32B": ((10240, 5120), (51200, 5120), (5120, 25600)),
    "Qwen3 235B": ((75968, 4096),),
    "Mixtral 8x7B": ((28672, 4096), (4096, 14336)),
}
"""N and K of the layers whose weights take 100 MB to 1 GB in bf16: attention's input (Q, K and V in
one) and output, the dense network's or an expert's two (gate and up in one). Of Qwen3 235B only the
head is as large; it is split over two GPUs here."""
ROWS = 1, 4, 16, 64
FEW_ROWS = 16
"""Rows of A up to which the cost of PDL is claimed."""
TOKENS = 50257
HEADS: tuple[Shape, ...] = tuple(
    (m, TOKENS, k) for k in (768, 1024, 1600) for m in (64, 1024, 4096)
)
"""GPT-2's head, in three sizes of the model, not padded."""
MANY_ROWS = 1024
"""Rows from which the head is claimed to be faster padded."""
PATCHES: tuple[Shape, ...] = ((1024, 1024, 588), (16384, 1024, 588))
"""The patch embedding of ViT-L/14: K is 3 · 14 · 14."""
LAYOUT = "nt"
"""Weights lie as ``nn.Linear`` keeps them, N by K."""
WIDTH = 64
"""N is padded to multiples of this, as GPT-2's vocabulary usually is; K to those of 16 bytes."""
ELEMENTS = 1 << 30
"""Numbers in each of two pools of operands: the largest weights fit, and rotate."""
OPERATOR, EARLY, VIEW, COPIED = "operator", "early", "view", "copied"
"""Contenders: the operator, its plan with PDL; on padded rows the result a view, or copied."""
FEW, ALL = "few rows", "all"


def layers() -> dict[Shape, str]:
    """Return the model of each shape."""
    return {(m, n, k): model for model, sizes in LAYERS.items() for n, k in sizes for m in ROWS}


def padded(shape: Shape) -> tuple[int, int]:
    """Return N and K of a shape's padded weights."""
    _, n, k = shape
    return -(-n // WIDTH) * WIDTH, -(-k // CHUNK) * CHUNK


class Padded:
    """A product by cuBLAS on padded rows: weights are kept padded, A is padded on the way.

    The result is a view of padded rows, or, ``copied``, C.
    """

    def __init__(self, problem: Problem, *, copied: bool) -> None:
        self._n, self._k = padded(problem.shape)
        self._copied = copied
        self._kept: dict[tuple[int, ...], Operands] = {}

    def __call__(self, a: Any, b: Any, c: Any) -> Any:
        """Compute ``a @ b.t()`` for A of M by K and B of N by K, and return it, M by N."""
        import torch

        left, weights, result = self._of(a, b, c)
        if left is not a:
            left[:, : a.shape[1]].copy_(a)
        torch.mm(left, weights.t(), out=result)
        view = result[:, : c.shape[1]]
        return c.copy_(view) if self._copied else view

    def _of(self, a: Any, b: Any, c: Any) -> Operands:
        """Return A, the weights and C with padded rows; what is not written stays zero."""
        key = a.data_ptr(), b.data_ptr(), c.data_ptr()
        if key not in self._kept:
            rows, k = a.shape
            weights = b.new_zeros(self._n, self._k)
            weights[: b.shape[0], :k].copy_(b)
            left = a if k == self._k else a.new_zeros(rows, self._k)
            self._kept[key] = left, weights, c.new_empty(rows, self._n)
        return self._kept[key]


class Timing:
    """Times shapes on torch's current device, which has to be a Hopper GPU."""

    def __init__(self, element: str, regime: Regime) -> None:
        prepare()
        self._element, self._regime = element, regime
        self._pools = [OperandPool(element, ELEMENTS) for _ in range(2)]
        self._operator = Multiplier(element, CACHE)
        self._early = Library(element, CACHE, pdl=True)

    def row(self, shape: Shape) -> Row:
        """Return the µs of a shape's contenders; SystemExit if the operator's product is wrong."""
        problem = Problem(shape, LAYOUT)
        reference = Reference(self._pools[0], problem)
        plan = self._operator.plan(problem)

        def multiplied(a: Any, b: Any, c: Any) -> None:
            self._operator(*oriented(problem, a, b), c)

        ours: dict[str, Run] = {OPERATOR: multiplied, EARLY: self._early.run(plan, problem)}
        for name, run in ours.items():
            if wrong := reference.of(run)["wrong"]:
                raise SystemExit(f"{describe(problem)}: {name}, {plan.name}: {wrong}")
        sets = [operands for pool in self._pools for operands in pool.sets(problem)]
        proposed = Pool(self._element, problem)
        library = {f"lt{index}": proposed.run(index) for index in proposed.able(sets[0])}
        always = {"torch": torch_product(problem), **ours}
        if not all(problem.aligned):
            always |= {VIEW: Padded(problem, copied=False), COPIED: Padded(problem, copied=True)}
        sets *= -(-LAUNCHES // len(sets))
        result = contest({"library": library}, always, sets, lambda _: None, self._regime)
        return {"shape": shape, "plan": plan.name, "finals": result["finals"]}


def keep(cell: Any, rows: Sequence[Row]) -> None:
    """State the times and ratios of each shape, of each model's shapes, of all and of few rows."""
    models = layers()
    each = {row["shape"]: series(row["finals"], moved(row["shape"])) for row in rows}
    groups = {model: [shape for shape in each if models.get(shape) == model] for model in LAYERS}
    groups[ALL] = [shape for shape in each if shape in models]
    for name, members in groups.items():
        for metric in ("over_library", "pdl_cost", "library_gb_s"):
            values = _by_round(geometric_mean, each, members, metric)
            cell.sample(name, metric, _unit(metric), values)
    few = [shape for shape in groups[ALL] if shape[0] <= FEW_ROWS]
    cell.sample(FEW, "pdl_cost", "×", _by_round(median, each, few, "pdl_cost"))
    for row in rows:
        region = describe(Problem(row["shape"], LAYOUT))
        for metric, values in each[row["shape"]].items():
            cell.sample(region, metric, _unit(metric), values)
        cell.fact(f"plan.{region}", row["plan"])
        if row["shape"] in models:
            cell.fact(f"model.{region}", models[row["shape"]])
        else:
            cell.fact(f"padded.{region}", "N = {}, K = {}".format(*padded(row["shape"])))
    for fact in facts(each, groups[ALL]):
        cell.fact(*fact)


def moved(shape: Shape) -> int:
    """Return the bytes of A, B and C."""
    m, n, k = shape
    return ELEMENT_BYTES * (m * k + n * k + m * n)


def _unit(metric: str) -> str:
    return {"us": "µs", "gb_s": "GB/s"}.get(metric.partition("_")[2], "×")


def series(finals: dict[str, Series], count: int) -> dict[str, Series]:
    """Return a shape's times in µs, their ratios and a rate, a value a round.

    ``over_library``: the fastest of torch.mm and cuBLASLt's candidates over the operator;
    ``pdl_cost``: its plan with PDL over the operator; ``pad_gain``: the operator over cuBLAS on
    padded rows, whose result is a view; ``library_gb_s``: of the fastest of the library, for the
    ``count`` bytes of the operands, each moved once.
    """
    ours = finals[OPERATOR]
    candidates = [us for name, us in finals.items() if is_library(name) and name != "torch"]
    library = min((finals["torch"], *candidates), key=median)
    found = {
        "over_library": _ratio(library, ours),
        "pdl_cost": _ratio(finals[EARLY], ours),
        "operator_us": ours,
        "early_us": finals[EARLY],
        "torch_us": finals["torch"],
        "library_gb_s": [count / us / 1e3 for us in library],
    }
    if candidates:
        found["lt_us"] = min(candidates, key=median)
    if VIEW in finals:
        found |= {"view_us": finals[VIEW], "copied_us": finals[COPIED]}
        found["pad_gain"] = _ratio(ours, finals[VIEW])
    return found


def facts(
    each: dict[Shape, dict[str, Series]], models: Sequence[Shape]
) -> Iterator[tuple[str, float | str, str]]:
    """Yield what is stated once: counts, and the lowest ratios with their shapes."""
    yield "shapes", len(models), "problems"
    yield "tuned_on", len({*models} & {*tuning()}), "problems"
    heads = [shape for shape in each if shape[1] == TOKENS and shape[0] >= MANY_ROWS]
    for name, metric, members in (
        ("least_over_library", "over_library", models),
        ("least_pad_gain", "pad_gain", heads),
    ):
        lowest = {shape: median(each[shape][metric]) for shape in members}
        place = min(lowest, key=lambda shape: lowest[shape])
        yield name, lowest[place], "×"
        yield f"{name}_shape", describe(Problem(place, LAYOUT)), ""


def _by_round(
    mean: Callable[[Sequence[float]], float],
    each: dict[Shape, dict[str, Series]],
    members: Sequence[Shape],
    metric: str,
) -> Series:
    """Return the mean of a metric over shapes, a value a round."""
    turns = zip(*(each[shape][metric] for shape in members), strict=True)
    return [mean(turn) for turn in turns]


def _ratio(us: Series, over: Series) -> Series:
    return [one / other for one, other in zip(us, over, strict=True)]


def main() -> None:
    """Run the cell that the environment names."""
    import torch

    from harness.probe.cell import Cell

    cell = Cell.load()
    if torch.cuda.get_device_capability() != (9, 0):
        raise SystemExit("the kernels are built for sm_90a: this needs a Hopper GPU (H100, H200)")
    torch.manual_seed(0)
    params = cell.params
    with cell.exclusively():
        timing = Timing(params["element"], Regime(params["batch_ms"], rounds=params["finals"]))
        rows = [timing.row(shape) for shape in (*layers(), *HEADS, *PATCHES)]
    keep(cell, rows)
    cell.finish()


if __name__ == "__main__":
    main()
