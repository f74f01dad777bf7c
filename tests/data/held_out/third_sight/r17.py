"""Molecular property regression with a deep, narrow transformer."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS = 24, 384, 6
MOLS, ATOMS, KINDS, TARGETS = 96, 64, 100, 12


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.q, self.k, self.v = nn.Linear(DIM, DIM), nn.Linear(DIM, DIM), nn.Linear(DIM, DIM)
        self.out = nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 3 * DIM), nn.Linear(3 * DIM, DIM)

    def forward(self, x, bias):
        def heads(y):
            return y.view(MOLS, ATOMS, HEADS, DIM // HEADS).transpose(1, 2)

        h = self.n1(x)
        a = F.scaled_dot_product_attention(heads(self.q(h)), heads(self.k(h)), heads(self.v(h)), attn_mask=bias)
        x = x + self.out(a.transpose(1, 2).reshape(MOLS, ATOMS, DIM))
        return x + self.down(F.silu(self.up(self.n2(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(KINDS, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, TARGETS)

    def forward(self, z, bias):
        x = self.emb(z)
        for layer in self.layers:
            x = layer(x, bias)
        return self.head(self.norm(x).mean(1))


def setup():
    net = Net().to(DEV, torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-4, weight_decay=0.01, foreach=False)
    dist = torch.rand(MOLS, 1, ATOMS, ATOMS, device=DEV, dtype=torch.bfloat16)
    return {
        "net": net,
        "opt": opt,
        "z": torch.randint(0, KINDS, (MOLS, ATOMS), device=DEV),
        "bias": (-dist).expand(MOLS, HEADS, ATOMS, ATOMS).contiguous(),
        "y": torch.randn(MOLS, TARGETS, device=DEV),
    }


def step(s):
    loss = F.mse_loss(s["net"](s["z"], s["bias"]).float(), s["y"])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=3)
