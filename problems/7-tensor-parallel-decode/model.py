"""A model, not a measurement: the step on more GPUs, from what two of them and their link took.

Weak scaling: each GPU keeps the work that it has here, so its own time stays, and so does the
message, because width and batch stay; the model of p GPUs has p/2 times as many heads and
columns. What grows is the exchange. With p GPUs behind a switch, each sends on its own link:

    one shot:  (p - 1) N bytes, one signal
    two shots: 2 (p - 1) / p N bytes, two signals
    ring:      2 (p - 1) / p N bytes, 2 (p - 1) signals
    tree:      2 log2(p) N bytes one after the other, as many signals
    doubling:  log2(p) N bytes, as many signals

Their signal is released behind the data. Packed words are twice the bytes, and need a bare signal.

What the measured exchange takes beyond that formula at p = 2, launches above all, is added to it.
Contention in the switch, stragglers among more GPUs and the sums of more parts are left out.
"""

from dataclasses import dataclass

from crossings import Taken

_US_OF_MS = 1e3
PACKED = "packed-"
WAYS = (
    *("one-shot", "two-shot", "ring", "tree", "doubling"),
    *(f"{PACKED}one-shot", f"{PACKED}two-shot"),
)


@dataclass(frozen=True)
class Measured:
    """What two GPUs took: a step without exchange, what one exchange exposes, and their link.

    ``signal_us``: a bare signal's way; ``fenced_us``: a released one's, behind data.
    """

    alone_ms: float
    exposed_us: float
    signal_us: float
    fenced_us: float
    gb_s: float


def exchange_us(known: Measured, kind: str, gpus: int, size: int) -> float:
    """Return the µs that bytes and signals of one all-reduce of ``size`` bytes take.

    ``kind``: one of ``WAYS``.
    """
    way = kind.removeprefix(PACKED)
    is_packed = way != kind
    parts, levels = 2 * (gpus - 1) / gpus, (gpus - 1).bit_length()
    sent, signals = {
        "one-shot": (gpus - 1, 1),
        "two-shot": (parts, 2),
        "ring": (parts, 2 * (gpus - 1)),
        "tree": (2 * levels, 2 * levels),
        "doubling": (levels, levels),
    }[way]
    signal_us = known.signal_us if is_packed else known.fenced_us
    return (2 if is_packed else 1) * sent * size / known.gb_s / 1e3 + signals * signal_us


def all_reduce_us(known: Measured, kind: str, gpus: int, size: int, measured_us: float) -> float:
    """Return the modelled µs of an all-reduce that took ``measured_us`` on two GPUs."""
    beyond = measured_us - exchange_us(known, kind, 2, size)
    return exchange_us(known, kind, gpus, size) + beyond


def series(known: Measured, gpus: int, taken: Taken) -> Taken:
    """Return the modelled µs of each way in ``taken``, which two GPUs took, that is known here.

    Of two GPUs bytes and signals alone, of more with what the measured one takes beyond.
    """
    modelled: Taken = {}
    for kb, us in taken.items():
        modelled[kb] = {}
        for kind, measured_us in us.items():
            way = "packed-one-shot" if kind == "packed" else kind.removeprefix("any-")
            if way not in WAYS:
                continue
            if gpus == 2:
                modelled[kb][kind] = exchange_us(known, way, gpus, kb << 10)
            else:
                modelled[kb][kind] = all_reduce_us(known, way, gpus, kb << 10, measured_us)
    return modelled


def step_ms(known: Measured, kind: str, gpus: int, size: int, reduces: int) -> float:
    """Return the modelled ms of a step with ``reduces`` all-reduces on so many GPUs."""
    beyond = known.exposed_us - exchange_us(known, kind, 2, size)
    exposed = exchange_us(known, kind, gpus, size) + beyond
    return known.alone_ms + reduces * exposed / _US_OF_MS
