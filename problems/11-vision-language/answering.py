"""Requests from JPEG bytes to their first token, with a variant's switches."""

import functools
import hashlib
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import torch
from encoding import ENCODER_SWITCHES, Encoder, Features
from PIL import Image
from plans import Grid
from preparing import Prepared, Preparer, decoded, stacked
from prompting import Prefill
from sending import Sender, Sent
from spans import Clock
from transformers import PreTrainedModel

SWITCHES = (
    "processor",  # "pil" or "torch"
    "process_on",  # "cpu" or "device"
    "workers",  # threads that decode and, on the CPU, process; 0: the thread that launches does
    "pinned",  # who decodes sends images on, from pinned memory on a stream of its own
    "encode",  # "each" request, or all "together"
    "one_call",  # attention of all windows in one call
    "aligned",  # the encoder's feed-forward layers padded to rows of 16 bytes
    "compiled",  # the encoder's blocks
    "graphs",  # a CUDA graph of the encoder for each batch of grids
    "prefill",  # "each" request, or all "together"
    "cached",  # features of images that came before are kept
)


@dataclass(frozen=True)
class Ask:
    """A request: the bytes of its image or of its clip's frames."""

    number: int
    jpegs: list[bytes]

    @property
    def key(self) -> str:
        """Return what names its images in the encoder's cache."""
        return hashlib.sha256(b"".join(self.jpegs)).hexdigest()


@dataclass
class Answer:
    """What came: the token of each request and its time in ms, and the padding of the prefill."""

    tokens: list[int]
    first_ms: list[float]
    padded: float = 0.0


@dataclass(frozen=True)
class Part:
    """Requests by number, their first tokens (on the device), and the padding of their prefill."""

    numbers: list[int]
    tokens: torch.Tensor
    padded: float


Images = list[Image.Image]
Ready = Images | Sent | Prepared


class Server:
    """Answers requests that come at once, as the switches of ``options`` say."""

    def __init__(self, model: PreTrainedModel, options: dict[str, Any]) -> None:
        self.options = options
        self._model = model
        self.device = model.device.type
        self.family = "qwen" if hasattr(model.model, "visual") else "llava"
        side = 0 if self.family == "qwen" else model.config.vision_config.image_size
        args = (self.family, options["processor"], options["longest_edge"], side)
        self.prepare = Preparer(*args)
        self.encode = Encoder(model, options)
        self.prefill = Prefill(model, options["text_tokens"])
        self._pool = ThreadPoolExecutor(options["workers"]) if options["workers"] else None
        self.grids: dict[int, Grid] = {}
        self._features: dict[str, tuple[torch.Tensor, Prepared]] = {}
        self._send = Sender(self.device, pinned=options["pinned"])

    def answer(self, asks: list[Ask], clock: Clock) -> Answer:
        """Return each request's first token; all of them are there at ``clock.start``."""
        clock.start()
        answer = Answer([0] * len(asks), [0.0] * len(asks))
        for part in self.launched(asks, self.begun(asks, clock), clock):
            with clock.stage("first token", part.numbers[0]):
                values = part.tokens.tolist()
            for number, value in zip(part.numbers, values, strict=True):
                answer.tokens[number] = value
                answer.first_ms[number] = clock.now()
            answer.padded = part.padded
        clock.stop()
        return answer

    def launched(
        self, asks: list[Ask], ready: dict[int, "Future[Ready]"], clock: Clock
    ) -> Iterator["Part"]:
        """Yield the first tokens of requests that are prefilled together, once that is launched."""
        together = self.options["encode"] == "together"
        for group in [asks] if together else [[ask] for ask in asks]:
            prepared = [self._prepared(ask, ready, clock) for ask in group]
            grids = [each.grid for each in prepared]
            self.grids |= {ask.number: grid for ask, grid in zip(group, grids, strict=True)}
            features = self._encoded(group, prepared, clock)
            yield from self._prefilled(group, grids, features, clock)

    def one_by_one(self, asks: list[Ask], clock: Clock) -> None:
        """Make each stage on the calling thread, for all requests."""
        list(self.launched(asks, {}, clock))

    def prepared(self, ask: Ask) -> Prepared:
        """Return a request's pixel values, on the device."""
        clock = Clock(self.device)
        clock.start()
        return self._prepared(ask, {}, clock)

    def plain_encoder(self) -> Encoder:
        """Return transformers' own encoder, with none of the switches."""
        return Encoder(self._model, dict.fromkeys(ENCODER_SWITCHES, False))

    def on_device(self, asks: list[Ask]) -> list[torch.Tensor]:
        """Return the decoded images of requests, in the device's memory."""
        return [stacked(decoded(ask.jpegs)).to(self.device) for ask in asks]

    def from_device(self, asks: list[Ask], images: list[torch.Tensor], clock: Clock) -> None:
        """Launch all that follows for images that lie in the device's memory."""
        prepared = [self.prepare(each, self.device) for each in images]
        features = self._encoded(asks, prepared, clock)
        list(self._prefilled(asks, [each.grid for each in prepared], features, clock))

    def decode_ms(self, ask: Ask, steps: int) -> list[float]:
        """Return the ms of each of ``steps`` tokens after a request's first."""
        prepared = self.prepare(decoded(ask.jpegs), "cpu")
        on_device = Prepared(prepared.pixels.to(self.device), prepared.grid)
        return self.prefill.next_ms(self.encode([on_device])[0], on_device.grid, steps)

    def close(self) -> None:
        """End the worker threads."""
        if self._pool:
            self._pool.shutdown()

    def begun(self, asks: list[Ask], clock: Clock) -> dict[int, Future[Ready]]:
        """Give the requests to the workers, if there are any; return what each will make."""
        if self._pool is None:
            return {}
        new = [ask for ask in asks if not self._known(ask)]
        return {ask.number: self._pool.submit(self._on_host, ask, clock) for ask in new}

    def _known(self, ask: Ask) -> bool:
        return self.options["cached"] and ask.key in self._features

    def _on_host(self, ask: Ask, clock: Clock) -> Ready:
        """Return a request's images, on their way if pinned, or the CPU's pixel values."""
        with clock.stage("decode", ask.number):
            images = decoded(ask.jpegs)
        if self.options["process_on"] == "device":
            if not self._send.pinned:
                return images
            with clock.stage("copy", ask.number):
                return self._send(images)
        with clock.stage("process", ask.number):
            return self.prepare(images, "cpu")

    def _prepared(self, ask: Ask, ready: dict[int, Future[Ready]], clock: Clock) -> Prepared:
        """Return pixel values on the device."""
        if self._known(ask):
            return self._features[ask.key][1]
        if ask.number in ready:
            with clock.stage("get batch", ask.number):
                found = ready[ask.number].result()
        else:
            found = self._on_host(ask, clock)
        if isinstance(found, Prepared):
            with clock.stage("copy", ask.number, on_gpu=True):
                return Prepared(found.pixels.to(self.device), found.grid)
        if isinstance(found, list):
            with clock.stage("copy", ask.number, on_gpu=True):
                found = self._send(found)
        with clock.stage("process", ask.number, on_gpu=True):
            return self.prepare(found.arrived(), self.device)

    def _encoded(self, group: list[Ask], prepared: list[Prepared], clock: Clock) -> Features:
        work = functools.partial(self._features_of, group, prepared)
        return clock.launched("encode", group[0].number, work)

    def _features_of(self, group: list[Ask], prepared: list[Prepared]) -> Features:
        if all(self._known(ask) for ask in group):
            return [self._features[ask.key][0] for ask in group]
        features = self.encode(prepared)
        if self.options["cached"]:
            for ask, each, one in zip(group, features, prepared, strict=True):
                bare = Prepared(torch.empty(0), one.grid)
                self._features[ask.key] = (each.clone(), bare)
        return features

    def _prefilled(
        self, group: list[Ask], grids: list[Grid], features: Features, clock: Clock
    ) -> Iterator["Part"]:
        places = list(range(len(group)))
        together = self.options["prefill"] == "together"
        for part in [places] if together else [[at] for at in places]:
            numbers = [group[at].number for at in part]
            given = [features[at] for at in part], [grids[at] for at in part]
            work = functools.partial(self.prefill, *given)
            tokens, padded = clock.launched("prefill", numbers[0], work)
            yield Part(numbers, tokens, padded)
