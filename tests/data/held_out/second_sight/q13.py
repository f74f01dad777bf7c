"""Semi-supervised labels on a product co-purchase graph."""
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, EDGES, WIDTH, CLASSES = 200_000, 4_000_000, 48, 47


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o)

    def adjacency(self, edges):
        src, dst = edges
        deg = torch.bincount(dst, minlength=NODES).clamp_(min=1).float().rsqrt()
        a = torch.sparse_coo_tensor(torch.stack([dst, src]), deg[dst] * deg[src], (NODES, NODES))
        return a.coalesce()

    def forward(self, h, edges):
        return torch.sparse.mm(self.adjacency(edges), self.lin(h))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.c1 = GraphConv(100, WIDTH)
        self.c2 = GraphConv(WIDTH, WIDTH)
        self.c3 = GraphConv(WIDTH, CLASSES)

    def forward(self, x, edges):
        h = F.relu(self.c1(x, edges))
        h = F.relu(self.c2(h, edges))
        return self.c3(h, edges)


def setup():
    dev = "cuda"
    net = Net().to(dev)
    labelled = torch.randperm(NODES, device=dev)[: NODES // 10]
    return {
        "net": net,
        "opt": torch.optim.Adam(net.parameters(), lr=1e-2, fused=True),
        "x": torch.randn(NODES, 100, device=dev),
        "edges": torch.randint(0, NODES, (2, EDGES), device=dev),
        "labelled": labelled,
        "y": torch.randint(0, CLASSES, (NODES // 10,), device=dev),
    }


def step(s):
    logits = s["net"](s["x"], s["edges"])
    loss = F.cross_entropy(logits.index_select(0, s["labelled"]), s["y"])
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=3, record_shapes=True)
