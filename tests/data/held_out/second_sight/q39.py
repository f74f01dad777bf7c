"""Low-rank adaptation of a pretrained decoder."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, T, RANK = 2048, 16, 16, 8192, 2, 512, 16


class Adapted(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.base = nn.Linear(i, o, bias=False)
        self.lora_a = nn.Parameter(torch.randn(RANK, i) / i**0.5)
        self.lora_b = nn.Parameter(torch.zeros(o, RANK))

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_a), self.lora_b)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.qkv, self.o = Adapted(DIM, 3 * DIM), Adapted(DIM, DIM)
        self.up, self.down = Adapted(DIM, 4 * DIM), Adapted(4 * DIM, DIM)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


def setup():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        net = nn.Sequential(
            nn.Embedding(VOCAB, DIM), *[Block() for _ in range(LAYERS)], nn.RMSNorm(DIM), nn.Linear(DIM, VOCAB, bias=False)
        )
    torch.set_default_dtype(torch.float32)
    adapters = [p for n, p in net.named_parameters() if "lora_" in n]
    return {
        "net": net,
        "opt": torch.optim.AdamW(adapters, lr=1e-4, fused=True),
        "ids": torch.randint(0, VOCAB, (B, T + 1), device="cuda"),
    }


def step(s):
    logits = s["net"](s["ids"][:, :-1])
    loss = F.cross_entropy(logits.reshape(-1, VOCAB), s["ids"][:, 1:].reshape(-1))
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=6)
