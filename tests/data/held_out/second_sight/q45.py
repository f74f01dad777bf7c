"""Fine-tuning with gradient accumulation."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, T, ACC = 1536, 12, 12, 16384, 4, 512, 4


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.o = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


def setup():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        net = nn.Sequential(
            nn.Embedding(VOCAB, DIM), *[Block() for _ in range(LAYERS)], nn.LayerNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        )
    torch.set_default_dtype(torch.float32)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-5, fused=True)
    return {"net": net, "opt": opt, "i": 0, "loss": torch.zeros((), device="cuda")}


def step(s):
    ids = torch.randint(0, VOCAB, (B, T + 1), device="cuda")
    logits = s["net"](ids[:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), ids[:, 1:].reshape(-1))
    (loss / ACC).backward()
    s["loss"] += loss.detach()
    s["i"] += 1
    if s["i"] % ACC == 0:
        s["opt"].step()
        s["opt"].zero_grad(set_to_none=False)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=16)
