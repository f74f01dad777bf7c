"""torchvision's import, which has to come before that of transformers."""

import contextlib
import importlib

import torch

_KEPT: list[torch.library.Library] = []
"""Definitions end with the object that made them."""


def load() -> None:
    """Import torchvision, also beside a torch that its operators were not built for.

    Transforms need none of them, but its import declares how one acts on shapes. Beside a torch for
    CPUs alone the operators, built for CUDA, do not load.
    """
    with contextlib.suppress(RuntimeError):
        importlib.import_module("torchvision")
        return
    library = torch.library.Library("torchvision", "DEF")
    library.define("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    _KEPT.append(library)
    importlib.import_module("torchvision")
