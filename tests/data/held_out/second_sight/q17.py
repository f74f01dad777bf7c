"""Batched chat completion: decoder plus sampler."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, B, CTX = 2048, 16, 8, 128256, 16, 256


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(DIM), nn.RMSNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM, bias=False)
        self.o = nn.Linear(DIM, DIM, bias=False)
        self.up, self.down = nn.Linear(DIM, 4 * DIM, bias=False), nn.Linear(4 * DIM, DIM, bias=False)
        self.register_buffer("kv", torch.zeros(2, B, HEADS, CTX, DIM // HEADS))

    def forward(self, x, pos):
        q, k, v = self.qkv(self.n1(x)).view(B, 1, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        self.kv[0, :, :, pos : pos + 1] = k
        self.kv[1, :, :, pos : pos + 1] = v
        a = F.scaled_dot_product_attention(q, self.kv[0, :, :, : pos + 1], self.kv[1, :, :, : pos + 1])
        x = x + self.o(a.transpose(1, 2).reshape(B, 1, DIM))
        return x + self.down(F.silu(self.up(self.n2(x))))


def sample(logits, seen, penalty=1.1, temperature=0.8, top_p=0.95):
    logits = logits.float().cpu()
    for row, used in zip(logits, seen):
        idx = torch.tensor(sorted(used))
        v = row[idx]
        row[idx] = torch.where(v > 0, v / penalty, v * penalty)
    value, index = torch.sort(logits / temperature, dim=-1, descending=True)
    prob = value.softmax(-1)
    prob[prob.cumsum(-1) - prob > top_p] = 0.0
    pick = index.gather(-1, torch.multinomial(prob, 1))
    for used, t in zip(seen, pick.flatten().tolist()):
        used.add(t)
    return pick.to("cuda")


def setup():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        layers = nn.ModuleList(Layer() for _ in range(LAYERS)).eval()
        emb = nn.Embedding(VOCAB, DIM)
    torch.set_default_dtype(torch.float32)
    tok = torch.zeros(B, 1, dtype=torch.long, device="cuda")
    return {"layers": layers, "emb": emb, "tok": tok, "seen": [{0} for _ in range(B)], "pos": 0}


@torch.inference_mode()
def step(s):
    for _ in range(4):
        x = s["emb"](s["tok"])
        for layer in s["layers"]:
            x = layer(x, s["pos"])
        logits = (x[:, 0] @ s["emb"].weight.t()) * DIM**-0.5
        s["tok"] = sample(logits, s["seen"])
        s["pos"] = (s["pos"] + 1) % CTX


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=2, record_shapes=True)
