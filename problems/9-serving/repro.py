"""Reproduce the ladder of a serving engine: the same requests, one decision changed at a time.

Run by ``harness run 9``; ``--dry-run`` prints the command and environment of each cell.
"""

import torch

from harness.probe.cell import Cell


def main() -> None:
    """Run the cell that the environment names."""
    with torch.inference_mode():
        cell = Cell.load(_imports)
        _workload(cell.params["workload"]).run(cell)
        cell.finish()


def _imports(params: dict[str, object]) -> None:
    _workload(params["workload"])


def _workload(name: object):  # noqa: ANN202 - a module
    """Return the script of a workload; only the rival's cells import transformers."""
    if name == "decode":
        import decoding

        return decoding
    if name == "beside":
        import beside

        return beside
    if name == "pool":
        import pool

        return pool
    if name == "tokens":
        import same_tokens

        return same_tokens
    import serving

    return serving


if __name__ == "__main__":
    main()
