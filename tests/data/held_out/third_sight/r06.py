"""Speech encoder training with a CTC objective."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS = 10, 256, 4
BATCH, FRAMES, MELS, CHARS = 16, 800, 80, 40


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2, self.n3 = nn.LayerNorm(DIM), nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.pw1, self.pw2 = nn.Linear(DIM, 2 * DIM), nn.Linear(DIM, DIM)
        self.dw = nn.Conv1d(DIM, DIM, 15, padding=7, groups=DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, DIM))
        c = F.glu(self.pw1(self.n2(x)), -1)
        x = x + self.pw2(F.silu(self.dw(c.transpose(1, 2)).transpose(1, 2)))
        return x + self.down(F.silu(self.up(self.n3(x))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Sequential(nn.Conv1d(MELS, DIM, 3, 2, 1), nn.GELU(), nn.Conv1d(DIM, DIM, 3, 2, 1), nn.GELU())
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.head = nn.Linear(DIM, CHARS)

    def forward(self, mel):
        x = self.sub(mel).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def setup():
    model = Encoder().to(DEV)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    n = FRAMES // 4
    return {
        "model": model,
        "opt": opt,
        "mel": torch.randn(BATCH, MELS, FRAMES, device=DEV),
        "text": torch.randint(1, CHARS, (BATCH, n // 4), device=DEV),
        "in_len": torch.full((BATCH,), n),
        "text_len": torch.full((BATCH,), n // 4),
        "board": {},
    }


def step(s):
    model = s["model"]
    with torch.autocast(DEV, dtype=torch.bfloat16):
        logits = model(s["mel"])
    logp = logits.float().log_softmax(-1).transpose(0, 1)
    loss = F.ctc_loss(logp, s["text"], s["in_len"], s["text_len"], zero_infinity=True)
    loss.backward()
    board = s["board"]
    for name, p in model.named_parameters():
        board[name + "/grad_norm"] = p.grad.norm().item()
        board[name + "/grad_max"] = p.grad.abs().max().item()
        board[name + "/weight_norm"] = p.detach().norm().item()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
