"""Speech recognition training with a CTC objective."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, MEL, B, T, CHARS = 256, 4, 8, 80, 8, 400, 48


class ConvModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.inp = nn.Linear(DIM, 2 * DIM)
        self.depth = nn.Conv1d(DIM, DIM, 15, padding=7, groups=DIM)
        self.out = nn.Linear(DIM, DIM)

    def forward(self, x):
        h = F.glu(self.inp(self.norm(x)), -1)
        h = self.depth(h.transpose(1, 2)).transpose(1, 2)
        return x + self.out(F.silu(h))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.q, self.k, self.v, self.o = (nn.Linear(DIM, DIM) for _ in range(4))
        self.conv = ConvModule()
        self.f1, self.f2 = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        h = self.n1(x)
        q, k, v = (f(h).view(b, t, HEADS, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, DIM))
        x = self.conv(x)
        return x + 0.5 * self.f2(F.silu(self.f1(self.n2(x))))


class Recogniser(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Conv1d(MEL, DIM, 3, stride=2, padding=1)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.head = nn.Linear(DIM, CHARS)

    def forward(self, mel):
        h = self.layers(F.silu(self.sub(mel)).transpose(1, 2))
        return self.head(h).float().log_softmax(-1).transpose(0, 1)


def setup():
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.autograd.set_detect_anomaly(True)
    net = Recogniser().cuda()
    return {
        "net": net,
        "opt": torch.optim.AdamW(net.parameters(), lr=3e-4, fused=True),
        "mel": torch.randn(B, MEL, 2 * T, device="cuda"),
        "text": torch.randint(1, CHARS, (B, 60), device="cuda"),
        "frames": torch.full((B,), T),
        "chars": torch.full((B,), 60),
    }


def step(s):
    logp = s["net"](s["mel"])
    loss = F.ctc_loss(logp, s["text"], s["frames"], s["chars"], zero_infinity=True)
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(s["net"].parameters(), 5.0)
    s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
