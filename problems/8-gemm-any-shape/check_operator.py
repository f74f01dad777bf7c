"""Check ``worklogs::hgemm`` here: layouts, gradients, opcheck, torch.compile, CUDA graphs."""

import sys

import torch
from gemm import OPERATOR, Linear, hgemm

SHAPES = ((128, 256, 64), (7, 33, 129), (512, 768, 1024), (1, 4096, 512), (333, 65, 2049))
TOLERANCE = 1e-2
"""Relative error in the norm that 16-bit operands and results may have."""


def off(result: torch.Tensor, exact: torch.Tensor) -> float:
    """Return the relative error in the norm."""
    return ((result.double() - exact).norm() / exact.norm()).item()


def operand(rows: int, columns: int, *, transposed: bool) -> torch.Tensor:
    """Return a random matrix, row-major or the transpose of a row-major one."""
    sizes = (columns, rows) if transposed else (rows, columns)
    matrix = torch.randn(sizes, device="cuda").to(torch.bfloat16)
    return (matrix.t() if transposed else matrix).requires_grad_()


def layouts_and_gradients() -> float:
    """Return the largest error of a product or gradient, over all shapes and layouts."""
    worst = 0.0
    for m, n, k in SHAPES:
        for first in (False, True):
            for second in (False, True):
                a, b = operand(m, k, transposed=first), operand(k, n, transposed=second)
                weight = torch.randn(m, n, device="cuda").to(torch.bfloat16)
                c = hgemm(a, b)
                grad_a, grad_b = torch.autograd.grad(c, (a, b), weight)
                exact_a, exact_b, w = a.detach().double(), b.detach().double(), weight.double()
                pairs = (
                    (c.detach(), exact_a @ exact_b),
                    (grad_a, w @ exact_b.t()),
                    (grad_b, exact_a.t() @ w),
                )
                worst = max(worst, *(off(*pair) for pair in pairs))
    return worst


def compiled_and_captured() -> float:
    """Return the largest error of compiled layers and their gradients, in CUDA graphs."""
    layer = torch.nn.Linear(512, 384, bias=True, device="cuda", dtype=torch.bfloat16)
    model = torch.compile(Linear(layer), mode="reduce-overhead", fullgraph=True)
    worst = 0.0
    for _ in range(4):
        x = torch.randn(64, 512, device="cuda").to(torch.bfloat16).requires_grad_()
        torch.compiler.cudagraph_mark_step_begin()
        y = model(x)
        (grad,) = torch.autograd.grad(y.float().sum(), x)
        exact = x.detach().double() @ layer.weight.detach().double().t() + layer.bias.double()
        worst = max(worst, off(y.detach(), exact))
        worst = max(worst, off(grad, layer.weight.detach().double().sum(0).expand(64, -1)))
    return worst


def checked() -> tuple[dict[str, float], dict[str, str]]:
    """Return the largest error of each kind, and opcheck's verdicts by test."""
    torch.manual_seed(0)
    worst = {"layouts and gradients": layouts_and_gradients()}
    a, b = operand(64, 128, transposed=False), operand(128, 96, transposed=True)
    verdicts = torch.library.opcheck(OPERATOR, (a, b), raise_exception=False)
    worst["compiled, in CUDA graphs"] = compiled_and_captured()
    return worst, {name: str(verdict) for name, verdict in verdicts.items()}


def main() -> int:
    """Run every check and print a line each."""
    worst, verdicts = checked()
    print("opcheck:", ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items()))
    for name, error in worst.items():
        print(f"{name}: largest error {error:.2e}")
    failed = not all(error < TOLERANCE for error in worst.values())
    return int(failed or any(verdict != "SUCCESS" for verdict in verdicts.values()))


if __name__ == "__main__":
    sys.exit(main())
