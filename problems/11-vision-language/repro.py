"""Reproduce the ladder of a vision-language request: the same images, one decision at a time.

Run by ``harness run 11``; ``--dry-run`` prints the command and environment of each cell.
"""

import torch
import with_torchvision

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    with torch.inference_mode():
        cell = Cell.load(_imports)
        _workload(cell.params["workload"]).run(cell)
        cell.finish()


def _imports(params: dict[str, object]) -> None:
    with_torchvision.load()
    _workload(params["workload"])


def _workload(name: object):  # noqa: ANN202 - a module
    """Return the script of a workload; it finds torchvision imported."""
    if name == "same":
        import same

        return same
    if name == "sizes":
        import sizes

        return sizes
    if name == "contention":
        import contention

        return contention
    import ladder

    return ladder


if __name__ == "__main__":
    main()
