"""Build a bank of magnitude spectrograms from raw audio."""
import torch

CLIPS, SAMPLES, N_FFT, HOP = 256, 160_000, 1024, 160


def setup():
    wav = [torch.randn(CLIPS, SAMPLES, device="cuda") for _ in range(2)]
    window = torch.hann_window(N_FFT, device="cuda")
    frames = SAMPLES // HOP + 1
    bank = torch.zeros(2, CLIPS, N_FFT // 2 + 1, frames)
    return {"wav": wav, "window": window, "bank": bank, "i": 0}


@torch.no_grad()
def step(s):
    k = s["i"] % 2
    s["i"] += 1
    wav = s["wav"][k]
    wav = wav / wav.abs().amax(dim=1, keepdim=True)
    spec = torch.stft(wav, N_FFT, HOP, window=s["window"], return_complex=True).abs()
    s["bank"][k].copy_(spec)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2)
