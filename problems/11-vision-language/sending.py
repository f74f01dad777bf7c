"""Images on their way to the device's memory."""

from dataclasses import dataclass

import torch
from PIL import Image
from preparing import stacked


@dataclass(frozen=True)
class Sent:
    """Images on the device, uint8 (images, height, width, channels), once ``done`` has passed."""

    images: torch.Tensor
    done: torch.cuda.Event | None = None

    def arrived(self) -> torch.Tensor:
        """Return the images; the current stream waits for them, the host does not."""
        if self.done is not None:
            stream = torch.cuda.current_stream()
            stream.wait_event(self.done)
            self.images.record_stream(stream)
        return self.images


class Sender:
    """Copies images; ``pinned``: from pinned memory, on a stream of its own, in any thread."""

    def __init__(self, device: str, *, pinned: bool) -> None:
        self._device = device
        self._stream = torch.cuda.Stream() if pinned and device == "cuda" else None
        self.pinned = pinned

    def __call__(self, images: list[Image.Image]) -> Sent:
        """Copy the images of one request."""
        host = stacked(images)
        if self._stream is None:
            return Sent(host.to(self._device))
        with torch.cuda.stream(self._stream):
            copied = host.pin_memory().to(self._device, non_blocking=True)
            done = torch.cuda.Event()
            done.record()
        return Sent(copied, done)
