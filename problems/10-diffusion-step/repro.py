"""Reproduce the ladder of a diffusion step: a denoiser, a VAE and a pipeline, one switch at a time.

Run by ``harness run 10``; ``--dry-run`` prints the command and environment of each cell.
"""

from collections.abc import Callable

import torch

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    with torch.no_grad():
        cell = Cell.load(_imports)
        _workload(cell.params["workload"])(cell)
        cell.finish()


def _imports(params: dict[str, object]) -> None:
    """Import what a cell of these params needs, beside others that measure."""
    import diffusers  # noqa: F401
    import torch._inductor.compile_fx  # noqa: F401

    _workload(params["workload"])


def _workload(name: object) -> Callable[[Cell], None]:
    """Return the function of a workload; only its own script is imported."""
    if name == "step":
        import stepping

        return stepping.run
    if name in ("backends", "sizes"):
        import attending

        return attending.backends if name == "backends" else attending.by_size
    if name == "new-size":
        import new_size

        return new_size.run
    if name == "decode":
        import decoding

        return decoding.run
    if name == "stream":
        import streaming

        return streaming.run
    if name == "cached":
        import caching

        return caching.run
    import image

    return image.run


if __name__ == "__main__":
    main()
