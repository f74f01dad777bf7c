"""Photographs and a clip, made from a seed: sizes and JPEG bytes as a camera leaves them."""

import io
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from PIL import Image

QUALITY = 90
"""Of the JPEGs, with 4:2:0 chroma, as many cameras and image hosts write them."""
_OCTAVES = 6
_GRAIN = 6.0
"""Standard deviation of the sensor's noise, of 255."""


def jpegs(sizes: list[tuple[int, int]], seed: int) -> list[bytes]:
    """Return a JPEG of each size (width, height); the same seed makes the same bytes."""
    with ThreadPoolExecutor() as pool:  # numpy and Pillow work without the interpreter's lock
        made = pool.map(lambda at: photo(*sizes[at], seed + at), range(len(sizes)))
        return [_jpeg(each) for each in made]


def clip(size: tuple[int, int], frames: int, seed: int) -> list[bytes]:
    """Return the frames of a camera that pans over one photograph, as JPEGs of one size."""
    width, height = size
    whole = photo(width + 8 * frames, height, seed)
    return [_jpeg(whole[:, 8 * at : 8 * at + width]) for at in range(frames)]


def photo(width: int, height: int, seed: int) -> np.ndarray:
    """Return uint8 (height, width, 3): a 1/f spectrum, as natural images have, edges and grain.

    The spectrum: Field, "Relations between the statistics of natural images", JOSA A 4 (1987).
    """
    drawn = np.random.default_rng(seed)
    values = np.zeros((height, width, 3), np.float32)
    for octave in range(_OCTAVES):
        side = 4 << octave
        coarse = drawn.normal(0, 60 / (1 + octave), (side, side, 3)).astype(np.float32)
        for channel in range(3):
            layer = Image.fromarray(coarse[..., channel])
            resized = layer.resize((width, height), Image.Resampling.BICUBIC)
            values[..., channel] += np.asarray(resized)
    for _ in range(12):
        left, top = drawn.integers(0, width), drawn.integers(0, height)
        right, bottom = left + drawn.integers(8, width // 3), top + drawn.integers(8, height // 3)
        values[top:bottom, left:right] += drawn.normal(0, 40, 3)
    values += drawn.normal(0, _GRAIN, (height, width, 1))
    return np.clip(values + 128, 0, 255).astype(np.uint8)


def _jpeg(pixels: np.ndarray) -> bytes:
    written = io.BytesIO()
    Image.fromarray(pixels).save(written, "JPEG", quality=QUALITY, subsampling="4:2:0")
    return written.getvalue()
