"""Node classification on a citation-style graph, full batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, EDGES, WIDTH, CLASSES = 100_000, 2_000_000, 64, 40


class Conv(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.msg = nn.Linear(width, width)
        self.upd = nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, h, src, dst):
        m = F.relu(self.msg(h)[src])
        agg = torch.zeros_like(h).index_add_(0, dst, m)
        return self.norm(h + self.upd(agg))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(128, WIDTH)
        self.layers = nn.ModuleList(Conv(WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, CLASSES)

    def forward(self, x, src, dst):
        h = F.relu(self.inp(x))
        for layer in self.layers:
            h = layer(h, src, dst)
        return self.out(h)


def setup():
    dev = "cuda"
    popular = torch.randint(0, 16, (EDGES // 4,), device=dev)
    others = torch.randint(0, NODES, (EDGES - EDGES // 4,), device=dev)
    src = torch.cat([popular, others])[torch.randperm(EDGES, device=dev)]
    dst = torch.randint(0, NODES, (EDGES,), device=dev)
    net = Net().to(dev)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3, fused=True)
    return {
        "net": net,
        "opt": opt,
        "x": torch.randn(NODES, 128, device=dev),
        "y": torch.randint(0, CLASSES, (NODES,), device=dev),
        "src": src,
        "dst": dst,
    }


def step(s):
    s["opt"].zero_grad(set_to_none=True)
    logits = s["net"](s["x"], s["src"], s["dst"])
    F.cross_entropy(logits, s["y"]).backward()
    s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=2, record_shapes=True)
