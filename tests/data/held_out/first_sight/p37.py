"""Multi-turn chat: every turn appends a chunk of tokens to the context."""
import torch
import torch.nn as nn
import torch.nn.functional as F

B, H, HD, LAYERS, CHUNK, START = 8, 16, 128, 16, 64, 1024
DIM = H * HD


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.out = nn.Linear(DIM, DIM, bias=False)

    def forward(self, x, past):
        q, k, v = self.qkv(self.norm(x)).view(B, x.shape[1], 3, H, HD).permute(2, 0, 3, 1, 4)
        if past is not None:
            k = torch.cat([past[0], k], dim=2)
            v = torch.cat([past[1], v], dim=2)
        a = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(a.transpose(1, 2).reshape(B, -1, DIM)), (k, v)


def setup():
    layers = nn.ModuleList(Layer() for _ in range(LAYERS)).to("cuda", torch.bfloat16)
    past = []
    for _ in range(LAYERS):
        kv = torch.randn(2, B, H, START, HD, device="cuda", dtype=torch.bfloat16)
        past.append((kv[0].clone(), kv[1].clone()))
    return {"layers": layers, "past": past}


@torch.no_grad()
def step(s):
    x = torch.randn(B, CHUNK, DIM, device="cuda", dtype=torch.bfloat16)
    for i, layer in enumerate(s["layers"]):
        x, s["past"][i] = layer(x, s["past"][i])


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=10)
