"""GemLite 0.6.0's rules: kernel, tuning bucket and launch grid for a batch.

Arithmetic only, so that it can be tested without a GPU; importing GemLite needs a GPU. Source:
core.get_matmul_type and triton_kernels.utils.generate_autotune_lookup_v2.
"""

from collections.abc import Mapping
from typing import Any

Config = Mapping[str, Any]
"""A configuration as Triton's ``Config.all_kwargs`` and GemLite's files hold it."""

KERNELS = {
    "GEMM": ("gemm_kernels", "gemm_INT_kernel"),
    "GEMM_SPLITK": ("gemm_splitK_kernels", "gemm_splitK_INT_kernel"),
    "GEMV_SPLITK": ("gemv_splitK_kernels", "gemv_INT_splitK_kernel"),
    "GEMV_REVSPLITK": ("gemv_revsplitK_kernels", "gemv_INT_revsplitK_kernel"),
}
"""GemLite's kernel kind: its module, and its kernel name in the profilers."""

_SMALL = (1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128)
_LARGE = (192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096)
BUCKETS = _SMALL + _LARGE


def kernel_for(m: int, bits: int) -> str:
    """Return the kernel kind for ``m`` rows of 16-bit activations."""
    if m >= 64:
        return "GEMM"
    if m > (4 if bits < 8 else 2):
        return "GEMM_SPLITK"
    return "GEMV_REVSPLITK" if bits < 8 else "GEMV_SPLITK"


def bucket(m: int) -> int:
    """Return the batch under which a configuration for ``m`` rows is stored."""
    return next((size for size in BUCKETS if size >= m), BUCKETS[-1])


def grid(kernel: str, config: Config, m: int, n: int, k: int) -> tuple[int, int]:
    """Return the launch's grid: tiles of the output, and parts of K that run side by side."""
    tiles = _parts(m, config["BLOCK_SIZE_M"]) * _parts(n, config["BLOCK_SIZE_N"])
    if kernel == "GEMM":
        return tiles, 1
    if kernel == "GEMV_REVSPLITK":  # every program takes two blocks of K
        return tiles, _parts(k, 2 * config["BLOCK_SIZE_K"])
    return tiles, config["SPLIT_K"]


def described(config: Config) -> str:
    """Return a configuration in one short line."""
    block = "×".join(str(config[f"BLOCK_SIZE_{axis}"]) for axis in "MNK")
    split = f", split {config['SPLIT_K']}" if "SPLIT_K" in config else ""
    warps, stages = config["num_warps"], config["num_stages"]
    order = f", A loaded {config['A_load_order']}"
    # GEMVs drop the bounds checks only where the tuner's pruner lets them.
    gemv = config["BLOCK_SIZE_M"] == 1
    checked = ", bounds checked" if gemv and not config.get("EVEN_K") else ""
    return f"{block}{split}, {warps} warps, {stages} stages{order}{checked}"


def _parts(size: int, block: int) -> int:
    return -(-size // block)
