"""A cell's time limit begins when it has the GPU, not while another cell measures."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest


@pytest.mark.parametrize("workload", ["shapes", "check"])
def test_the_limit_begins_with_the_turn(
    module: Callable[[str], ModuleType],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    workload: str,
) -> None:
    for name in ("torch", "gemm", "check_operator"):
        monkeypatch.setitem(sys.modules, name, MagicMock())
    repro = module("repro")
    order: list[str] = []

    class Session:
        avoided: frozenset[str] = frozenset()

        def __init__(self, options: Any) -> None:
            order.append(f"a limit of {options.limit_s} s begins")

        def time(self, *_: Any) -> None:
            order.append("measured")

        check = time

        def rows(self, _kind: str) -> list[dict[str, Any]]:
            return []

    @contextlib.contextmanager
    def exclusively() -> Iterator[None]:
        order.append("alone")
        yield
        order.append("not alone")

    monkeypatch.setattr(repro, "Session", Session)
    monkeypatch.setattr(repro.copies, "measure", lambda: repro.copies.Copies({1: 1.0, 2: 2.0}))
    params = {"element": "bf16", "layouts": ["nn"], "limit_s": 7, "shapes": ["8x8x64"]}
    cell = SimpleNamespace(
        params=params, out=tmp_path, exclusively=exclusively, fact=lambda *_: None
    )
    with pytest.raises((SystemExit, ValueError)):  # nothing was measured
        getattr(repro, workload)(cell)
    assert order == ["alone", "a limit of 7 s begins", "measured", "not alone"]
