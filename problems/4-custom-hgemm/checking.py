"""Check a step's product: as exact as cuBLAS against fp64, and no write outside C."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from step import Step
from steps import FALLBACK

Shape = tuple[int, int, int]
"""M, N, K."""

SHAPES: tuple[Shape, ...] = (
    (128, 256, 64),
    (64, 64, 64),
    (128, 256, 512),
    (1, 8, 8),
    (8, 8, 8),
    (136, 264, 72),
    (257, 776, 2056),
    (1000, 1000, 1000),
    (512, 3072, 1024),
    (5000, 2568, 520),
    (2048, 2048, 2048),
)
ODD_SHAPES: tuple[Shape, ...] = ((1, 1, 1), (33, 17, 65), (129, 7, 13), (64, 1000, 999))
LARGE: tuple[Shape, ...] = ((4096, 4096, 4096),)
LARGE_ODD: tuple[Shape, ...] = ((4097, 4104, 4099),)
ROWS_UNALIGNED: tuple[Shape, ...] = (*ODD_SHAPES[1:], *LARGE_ODD)
"""Shapes that only the fallback computes, large enough to have a rounding error."""
GUARD = 1 << 14
"""Guard elements before and after C; no kernel may write them."""
REPEATS = 20
"""Runs whose results have to be bitwise equal."""
OVERFLOW = 0.1
"""In %: share of the overflowing elements that may overflow in one product only."""
TIMES_CUBLAS = 2.0
"""Largest ratio allowed of a step's error to cuBLAS's."""

Run = Callable[[Any, Any, Any], None]


def shapes(step: Step, large: bool) -> list[Shape]:
    """Return the shapes to check that this step takes."""
    every = [*SHAPES, *ODD_SHAPES, *(LARGE if large else ())]
    if step is FALLBACK:
        every += LARGE_ODD if large else ()
    return [shape for shape in every if step.takes(*shape)]


def check(step: Step, run: Run, element: str, large: bool) -> tuple[bool, list[str]]:
    """Return whether all checks pass, and a line for each checked shape and property.

    It ends at the first failure. Each line is printed before the next check begins, so that the
    last line of a killed process shows how far it came.
    """
    checks = [partial(_product, run, element, shape) for shape in shapes(step, large)]
    checks += [partial(_repeated, run, element), partial(_in_order, run, element)]
    if element == "fp16":
        checks.append(partial(_overflow, run))
    lines: list[str] = []
    for check_once in checks:
        try:
            passed, line = check_once()
        except Exception as error:  # a trap or a fault: the context is lost, the report is not
            passed, line = False, f"{check_once.args[2:]}: {type(error).__name__}: {error}"
        lines.append(("ok   " if passed else "FAIL ") + line.split("\n")[0])
        print(lines[-1], flush=True)
        if not passed:
            return False, lines
    return True, lines


def _operands(element: str, shape: Shape, seed: int = 0) -> tuple[Any, Any]:
    import torch

    m, n, k = shape
    dtype = torch.bfloat16 if element == "bf16" else torch.float16
    generator = torch.Generator("cuda").manual_seed(seed)
    a = torch.randn(m, k, device="cuda", generator=generator) * k**-0.5
    b = torch.randn(k, n, device="cuda", generator=generator)
    return a.to(dtype), b.to(dtype)


def _poisoned(like: Any, m: int, n: int) -> tuple[Any, Any]:
    """Return a buffer full of NaN, and C as the view of its middle."""
    import torch

    memory = torch.full((m * n + 2 * GUARD,), float("nan"), dtype=like.dtype, device="cuda")
    return memory, memory[GUARD : GUARD + m * n].view(m, n)


@dataclass(frozen=True)
class Errors:
    """Errors of a product and of cuBLAS's against fp64: relative, in the norm.

    ``single``: to the product in fp32. ``worst``: the largest error of an element over the root
    mean square of all. ``wrong``: a description of the wrong place; empty if the
    product is exact enough and nothing was written outside C.
    """

    shape: Shape
    error: float
    cublas: float
    single: float
    worst: float
    worst_cublas: float
    wrong: str

    def __str__(self) -> str:
        shape = "x".join(map(str, self.shape))
        text = f"{shape}: error {self.error:.2e} (cuBLAS {self.cublas:.2e})"
        text += f", worst {self.worst:.1e} ({self.worst_cublas:.1e}), to fp32 {self.single:.2e}"
        return "; ".join(filter(None, (text, self.wrong)))


def errors(run: Run, element: str, shape: Shape) -> Errors:
    """Run once, into memory full of NaN, and compare."""
    import torch

    m, n, _ = shape
    a, b = _operands(element, shape)
    memory, c = _poisoned(a, m, n)
    run(a, b, c)
    torch.cuda.synchronize()
    double = a.double() @ b.double()
    error, worst = _error(c, double)
    cublas, worst_cublas = _error(torch.mm(a, b), double)
    single, _ = _error(c, a.float() @ b.float())
    untouched = memory[:GUARD].isnan().all() & memory[GUARD + m * n :].isnan().all()
    wrong = []
    if not (
        error <= TIMES_CUBLAS * cublas + 1e-7
        and single <= TIMES_CUBLAS * cublas + 1e-6
        and worst <= 4 * worst_cublas + 1e-6
    ):
        wrong.append(where(c, double))
    if not untouched:
        wrong.append("wrote outside C")
    return Errors(shape, error, cublas, single, worst, worst_cublas, "; ".join(wrong))


def _error(c: Any, reference: Any) -> tuple[float, float]:
    """Return the relative error in the norm, and the largest one over the root mean square."""
    difference = c.to(reference.dtype) - reference
    norm = reference.norm()
    scale = norm / reference.numel() ** 0.5
    return (difference.norm() / norm).item(), (difference.abs().max() / scale).item()


def _product(run: Run, element: str, shape: Shape) -> tuple[bool, str]:
    product_errors = errors(run, element, shape)
    return not product_errors.wrong, str(product_errors)


def where(c: Any, reference: Any) -> str:
    """Describe the range of wrong elements, which shows the part of a tile."""
    import torch

    off = (c.double() - reference).abs() > 0.05 * reference.abs().mean() + 0.02 * reference.abs()
    wrong = off | c.isnan()
    nan = int(c.isnan().sum())
    if not bool(wrong.any()):
        return "no element is far off"
    places = wrong.nonzero()
    rows = torch.unique(places[:, 0])
    columns = torch.unique(places[:, 1])
    return (
        f"{len(places)} of {c.numel()} wrong, {nan} NaN; first at {places[0].tolist()}, last at"
        f" {places[-1].tolist()}; {len(rows)} rows {rows[:6].tolist()}…{rows[-3:].tolist()},"
        f" {len(columns)} columns {columns[:6].tolist()}…{columns[-3:].tolist()};"
        f" there {c[tuple(places[0])].item():.4f} for {reference[tuple(places[0])].item():.4f}"
    )


def _repeated(run: Run, element: str) -> tuple[bool, str]:
    """Run repeatedly without a pause, and compare the results bitwise."""
    import torch

    shape = (2000, 2312, 1032)
    a, b = _operands(element, shape, seed=1)
    results = [
        torch.full((2000, 2312), float("nan"), dtype=a.dtype, device="cuda") for _ in range(REPEATS)
    ]
    for c in results:
        run(a, b, c)
    torch.cuda.synchronize()
    different = sum(not torch.equal(c, results[0]) for c in results)
    return different == 0, f"{REPEATS} runs of {shape}: {different} differ from the first"


def chained(run: Run, element: str) -> int:
    """Multiply the previous product repeatedly; return the number of wrong elements.

    Between two buffers, as a CUDA graph, so that no product waits for the host: a kernel that
    reads or writes before its predecessor ends changes the result. The reference is the same chain
    with a synchronisation after each product.
    """
    import torch

    a, b = _operands(element, (2000, 1032, 1032), seed=3)
    a, b = a * 1032**0.5, b * 1032**-0.5  # as large after each product as before
    x, y = a.clone(), torch.full_like(a, float("nan"))

    def chain(after_each: Callable[[], None]) -> None:
        for _ in range(REPEATS // 2):
            for source, target in ((x, y), (y, x)):
                run(source, b, target)
                after_each()

    chain(torch.cuda.synchronize)
    right = x.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        chain(lambda: None)
    x.copy_(a)
    y.fill_(float("nan"))
    graph.replay()
    torch.cuda.synchronize()
    return int((x != right).sum())


def _in_order(run: Run, element: str) -> tuple[bool, str]:
    wrong = chained(run, element)
    return wrong == 0, f"{REPEATS} products of each other: {wrong} elements differ without a pause"


def overflow(run: Run) -> float:
    """Return the elements that overflow fp16 in one product only, in % of cuBLAS's overflows.

    NaN if nothing overflows in cuBLAS's product. About a third of the elements exceed the largest
    number of fp16; a few are so near to it that the order of summation decides.
    """
    import torch

    a, b = _operands("fp16", (128, 256, 1024), seed=2)
    a, b = a * 500, b * 125
    c = torch.full((128, 256), float("nan"), dtype=a.dtype, device="cuda")
    run(a, b, c)
    theirs = torch.mm(a, b).isinf()
    otherwise = (c.isinf() != theirs).logical_or(c.isnan())
    return 100 * (otherwise.sum() / theirs.sum()).item()


def _overflow(run: Run) -> tuple[bool, str]:
    share = overflow(run)
    return share < OVERFLOW, f"overflow: {share:.3f} % otherwise than cuBLAS's"
