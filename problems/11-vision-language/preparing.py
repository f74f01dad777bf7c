"""From JPEG bytes to pixel values: Pillow decodes, a processor of transformers does the rest."""

import importlib
import io
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image

Grid = tuple[int, int, int]
"""Frames over the temporal patch, rows and columns of patches."""


@dataclass(frozen=True)
class Prepared:
    """Pixel values of one request, (patches, values of a patch) or (1, channels, side, side)."""

    pixels: torch.Tensor
    grid: Grid


def decoded(jpegs: list[bytes]) -> list[Image.Image]:
    """Return the images of one request; Pillow decodes without the interpreter's lock."""
    images = [Image.open(io.BytesIO(jpeg)) for jpeg in jpegs]
    for image in images:
        image.load()
    return images


def stacked(images: list[Image.Image]) -> torch.Tensor:
    """Return uint8 (images, height, width, channels) of images of one size."""
    import numpy as np

    return torch.from_numpy(np.stack([np.asarray(image) for image in images]))


class Preparer:
    """One of transformers' processors of a model, and where it works."""

    def __init__(self, family: str, backend: str, longest_edge: int, side: int) -> None:
        self._family = family
        self._backend = backend
        self._made = _processor(family, backend, longest_edge, side)
        self._of_clips = _clip_processor(longest_edge) if family == "qwen" else None

    def __call__(self, images: list[Image.Image] | torch.Tensor, device: str) -> Prepared:
        """Return pixel values on ``device``; a tensor of images lies there already.

        Several images of a request are the frames of a clip.
        """
        if len(images) > 1:
            return self._clip(images, device)
        whole = images if isinstance(images, list) else [images[0].permute(2, 0, 1)]
        where: dict[str, Any] = {} if self._backend == "pil" else {"device": device}
        made = self._made(images=whole, return_tensors="pt", **where)
        grid = made.get("image_grid_thw")
        return Prepared(made["pixel_values"], _grid(grid, made["pixel_values"]))

    def _clip(self, images: list[Image.Image] | torch.Tensor, device: str) -> Prepared:
        if self._of_clips is None:
            raise SystemExit("only Qwen2.5-VL takes clips: give the case one image a request")
        frames = stacked(images) if isinstance(images, list) else images
        made = self._of_clips(
            videos=[frames.permute(0, 3, 1, 2).to(device)],
            do_sample_frames=False,
            cap_pixels_per_frame=False,
            return_tensors="pt",
        )
        pixels = made["pixel_values_videos"]
        return Prepared(pixels, _grid(made["video_grid_thw"], pixels))


def _grid(grid: torch.Tensor | None, pixels: torch.Tensor) -> Grid:
    if grid is None:
        side = pixels.shape[-1] // 14
        return 1, side, side
    frames, rows, columns = grid[0].tolist()
    return frames, rows, columns


def _processor(family: str, backend: str, longest_edge: int, side: int) -> Any:
    """Return a processor of the family; "pil" computes with Pillow and numpy."""
    module, name = {
        ("qwen", "pil"): ("qwen2_vl.image_processing_pil_qwen2_vl", "Qwen2VLImageProcessorPil"),
        ("qwen", "torch"): ("qwen2_vl.image_processing_qwen2_vl", "Qwen2VLImageProcessor"),
        ("llava", "pil"): ("clip.image_processing_pil_clip", "CLIPImageProcessorPil"),
        ("llava", "torch"): ("clip.image_processing_clip", "CLIPImageProcessor"),
    }[family, backend]
    made = getattr(importlib.import_module(f"transformers.models.{module}"), name)
    if family == "qwen":
        return made(size={"shortest_edge": 56 * 56, "longest_edge": longest_edge})
    return made(size={"shortest_edge": side}, crop_size={"height": side, "width": side})


def _clip_processor(longest_edge: int) -> Any:
    from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor

    return Qwen2VLVideoProcessor(size={"shortest_edge": 56 * 56, "longest_edge": longest_edge})
