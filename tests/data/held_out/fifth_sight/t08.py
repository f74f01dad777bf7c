"""Pulse compression of sonar records by convolution in the frequency domain."""
import torch

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
RECORD, CHIRP = (120_000, 11_072) if BIG else (1200, 110)
BEAMS, BLOCKS = (256, 4) if BIG else (4, 2)


def chirp(n):
    t = torch.linspace(-1, 1, n, device=DEV)
    return torch.polar(torch.hann_window(n, device=DEV), 900.0 * t * t)


def compress(x, spectrum, n, out):
    f = torch.fft.fft(x, n=n)
    f.mul_(spectrum)
    y = torch.fft.ifft(f, n=n)
    return torch.abs(y[:, CHIRP - 1 :], out=out)


def setup():
    n = RECORD + CHIRP - 1
    pulse = chirp(CHIRP)
    spectrum = torch.fft.fft(pulse.flip(0).conj().resolve_conj(), n=n)
    data = [
        torch.randn(BEAMS, RECORD, dtype=torch.complex64, device=DEV) for _ in range(BLOCKS)
    ]
    out = torch.empty(BEAMS, n - CHIRP + 1, device=DEV)
    return {"n": n, "spectrum": spectrum, "data": data, "out": out}


@torch.no_grad()
def step(s):
    peak = None
    for x in s["data"]:
        mag = compress(x, s["spectrum"], s["n"], s["out"])
        top = mag.amax(1)
        peak = top if peak is None else torch.maximum(peak, top)
    s["peak"] = peak


if __name__ == "__main__":
    main(setup, step, steps=10, warmup=3)
