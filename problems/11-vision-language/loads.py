"""The requests of a case, from a seed."""

from collections.abc import Mapping
from typing import Any

import images
from answering import Ask

SEED = 11


def asks(params: Mapping[str, Any], seed: int = SEED) -> list[Ask]:
    """Return a request for each of the case's ``sizes``, or for each clip of ``frames`` frames."""
    sizes = [(width, height) for width, height in params["sizes"]]
    if params.get("frames"):
        made = [images.clip(size, params["frames"], seed + at) for at, size in enumerate(sizes)]
    else:
        made = [[jpeg] for jpeg in images.jpegs(sizes, seed)]
    return [Ask(number, jpegs) for number, jpegs in enumerate(made)]
