"""Vision transformer pre-training with a rich per-layer log."""
import json

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, B, T, CLASSES = 1280, 16, 20, 64, 256, 1000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.o = nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(3 * 14 * 14 + 4, DIM)
        self.pos = nn.Parameter(torch.zeros(1, T, DIM))
        self.blocks = nn.Sequential(*[Block() for _ in range(LAYERS)])
        self.norm = nn.LayerNorm(DIM)
        self.head = nn.Linear(DIM, CLASSES)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.patch(x) + self.pos)).mean(1))


def setup():
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        net = ViT()
        x = torch.randn(B, T, 3 * 14 * 14 + 4)
    torch.set_default_dtype(torch.float32)
    names = [n for n, _ in net.named_parameters()]
    return {
        "net": net,
        "opt": torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True),
        "x": x,
        "y": torch.randint(0, CLASSES, (B,), device="cuda"),
        "names": names,
        "box": [torch.zeros(len(names) + 1).pin_memory() for _ in range(2)],
        "done": [None, None],
        "i": 0,
        "lines": [],
    }


def publish(names, values):
    record = {"loss": values[-1], "layers": {}}
    for n, v in zip(names, values):
        node = record["layers"]
        for part in n.split("."):
            node = node.setdefault(part, {})
        node["grad_norm"] = round(v, 6)
    return [json.dumps(record, indent=k % 3) for k in range(5)][-1]


def step(s):
    k = s["i"] % 2
    s["i"] += 1
    loss = F.cross_entropy(s["net"](s["x"]).float(), s["y"])
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    norms = torch._foreach_norm([p.grad for p in s["net"].parameters()])
    s["opt"].step()
    s["box"][k].copy_(torch.stack([*norms, loss.detach()]).float(), non_blocking=True)
    s["done"][k] = torch.cuda.Event()
    s["done"][k].record()
    if s["done"][1 - k] is not None:
        s["done"][1 - k].synchronize()
        s["lines"].append(publish(s["names"], s["box"][1 - k].tolist()))


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
