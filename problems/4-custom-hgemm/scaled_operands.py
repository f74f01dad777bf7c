"""Operands in e4m3 with two rules of scales, their exact products, and torch's products of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from checking import Shape

BLOCK = 128
"""K, and rows of B, that share a scale (DeepSeek-V3, arXiv 2412.19437, section 3.3)."""
LARGEST = 448.0
"""The largest number of e4m3; scales map the largest of what they scale to it."""


@dataclass(frozen=True)
class Scaled:
    """A (M by K) and B (N by K) in e4m3, with their scales in fp32.

    By row: ``scale_a`` has M, ``scale_b`` N. By block: ``scale_a`` is K/128 by M, ``scale_b``
    N/128 (rounded up) by K/128.
    """

    a: Any
    b: Any
    scale_a: Any
    scale_b: Any


@dataclass(frozen=True)
class Product:
    """Operands of C = A @ B^T, M by N: in bf16, scaled by row, and scaled by block."""

    a: Any
    b: Any
    rows: Scaled
    blocks: Scaled
    c: Any

    @property
    def shape(self) -> Shape:
        """Return M, N, K."""
        (m, k), n = self.a.shape, self.b.shape[0]
        return m, n, k


Run = Callable[[Product], Any]
"""Launches a product on torch's current stream, and returns C."""


def drawn(shape: Shape, device: str = "cuda") -> Product:
    """Return operands of random normal numbers; K has to be a multiple of 128."""
    import torch

    m, n, k = shape
    a = (torch.randn(m, k, device=device) * k**-0.5).bfloat16()
    b = torch.randn(n, k, device=device).bfloat16()
    c = torch.empty(m, n, dtype=torch.bfloat16, device=device)
    return Product(a, b, by_row(a, b), by_block(a, b), c)


def by_row(a: Any, b: Any) -> Scaled:
    """Return the operands with a scale for each row of A and of B."""
    (a8, scale_a), (b8, scale_b) = (_quantised(each.float(), each.shape[1]) for each in (a, b))
    return Scaled(a8, b8, scale_a.flatten(), scale_b.flatten())


def by_block(a: Any, b: Any) -> Scaled:
    """Return the operands with a scale for each 1 by 128 of A and each 128 by 128 of B."""
    import torch

    a8, scale_a = _quantised(a.float(), BLOCK)
    n, k = b.shape
    padded = torch.nn.functional.pad(b.float(), (0, 0, 0, -n % BLOCK))
    tiles = padded.view(-1, BLOCK, k // BLOCK, BLOCK).transpose(1, 2)
    b8, scale_b = _quantised(tiles.reshape(-1, BLOCK * BLOCK), BLOCK * BLOCK)
    b8 = b8.view(-1, k // BLOCK, BLOCK, BLOCK).transpose(1, 2).reshape(-1, k)[:n].contiguous()
    return Scaled(a8, b8, scale_a.t().contiguous(), scale_b.view(-1, k // BLOCK))


def _quantised(x: Any, span: int) -> tuple[Any, Any]:
    """Return ``x`` in e4m3 and a scale for each ``span`` of a row."""
    import torch

    spans = x.view(x.shape[0], -1, span)
    scale = spans.abs().amax(-1).clamp(min=1e-12) / LARGEST
    return (spans / scale[..., None]).to(torch.float8_e4m3fn).view(x.shape), scale


def exact(scaled: Scaled) -> Any:
    """Return the product of the scaled operands in fp64."""
    a, b = scaled.a.double(), scaled.b.double()
    if scaled.scale_a.dim() == 1:
        return (a * scaled.scale_a[:, None]) @ (b * scaled.scale_b[:, None]).t()
    of_a = scaled.scale_a.t().repeat_interleave(BLOCK, 1)
    of_b = scaled.scale_b.repeat_interleave(BLOCK, 0)[: b.shape[0]].repeat_interleave(BLOCK, 1)
    return (a * of_a) @ (b * of_b).t()


def bf16(product: Product) -> Any:
    """Compute torch's product in bf16: what 8-bit operands have to gain over."""
    import torch

    return torch.mm(product.a, product.b.t(), out=product.c)


def torch_rows(product: Product, *, fast: bool) -> Any:
    """Compute torch's product with scales by row; ``fast``: summed in the tensor cores alone."""
    import torch

    rows = product.rows
    scales = rows.scale_a[:, None], rows.scale_b[None, :]
    return torch._scaled_mm(
        rows.a, rows.b.t(), *scales, out_dtype=torch.bfloat16, use_fast_accum=fast
    )


def torch_blocks(product: Product) -> Any:
    """Compute torch's product with scales by block.

    torch 2.11 gave wrong products and no error on an H200 where K/128 was no multiple of 4: cuBLAS
    reads the scales of B four along K at a time.
    """
    import torch

    blocks = product.blocks
    scales = blocks.scale_a.t(), blocks.scale_b.t()
    return torch._scaled_mm(
        blocks.a, blocks.b.t(), *scales, out_dtype=torch.bfloat16, use_fast_accum=False
    )
