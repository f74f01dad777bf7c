"""Speech encoder fed by speed-perturbed audio."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
BATCH, SECONDS = (32, 12) if BIG else (2, 1)
D, LAYERS, HEADS = (1536, 4, 12) if BIG else (64, 1, 2)
OLD, NEW = (441, 451) if BIG else (20, 21)
HOP, FRAME = 441, 1024
DT = torch.bfloat16


def polyphase(old, new, zeros=24, rolloff=0.945):
    base = min(old, new) * rolloff
    width = math.ceil(zeros * old / base)
    idx = torch.arange(-width, width + old, dtype=torch.float64)
    rows = []
    for i in range(new):
        t = (-i / new + idx / old) * base
        t = t.clamp(-zeros, zeros) * math.pi
        win = torch.cos(t / zeros / 2) ** 2
        r = torch.where(t == 0, torch.ones_like(t), torch.sin(t) / t)
        rows.append(r * win)
    taps = torch.stack(rows) * (base / old)
    return taps.float(), width


def change_speed(wav, old, new):
    taps, width = polyphase(old, new)
    taps = taps.to(wav.device)
    x = F.pad(wav, (width, width + old))
    frames = x.unfold(-1, taps.shape[1], old)
    return (frames @ taps.t()).flatten(1)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(FRAME // 2, D)
        layer = nn.TransformerEncoderLayer(
            D, HEADS, 4 * D, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)

    def forward(self, wav):
        spec = torch.stft(wav, FRAME, HOP, window=self.window, return_complex=True).abs()
        feat = torch.log1p(spec[:, : FRAME // 2]).transpose(1, 2)
        return self.body(self.inp(feat[:, : feat.shape[1] // 8 * 8].to(DT))).mean(1)


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.mha.set_fastpath_enabled(False)
    enc = Encoder().to(DEV, DT).eval()
    enc.window = torch.hann_window(FRAME, device=DEV)
    wav = torch.randn(BATCH, 44100 * SECONDS, device=DEV)
    return {"enc": enc, "wav": wav}


@torch.no_grad()
def step(s):
    s["emb"] = s["enc"](change_speed(s["wav"], OLD, NEW))


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
