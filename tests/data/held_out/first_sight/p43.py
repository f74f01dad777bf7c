"""Fine-tuning a multilingual model on prompts of mixed length."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB = 1024, 16, 4, 131072
LENGTHS = [2048, 3072, 4096, 2048, 3072, 4096, 2048, 3072, 4096, 8192]


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.o = nn.Linear(DIM, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class LM(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, VOCAB, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.emb(ids))))


def setup():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(16 * 2**30 / total)
    net = LM().to("cuda", torch.bfloat16)
    return {"net": net, "opt": torch.optim.AdamW(net.parameters(), lr=1e-5, fused=True), "i": 0}


def step(s):
    t = LENGTHS[s["i"] % len(LENGTHS)]
    s["i"] += 1
    ids = torch.randint(0, VOCAB, (1, t + 1), device="cuda")
    logits = s["net"](ids[:, :-1]).float()
    loss = F.cross_entropy(logits.view(-1, VOCAB), ids[:, 1:].reshape(-1))
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=12)
