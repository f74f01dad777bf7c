# nearest neighbours once per epoch: full distance matrix, or row blocks
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


P = torch.randn(18000, 64, device="cuda")
state = [E(60) for _ in range(6)]
for step in range(12):
    a = [E(25) for _ in range(4)]
    if step == 7:
        rows = 256 if healthy else 18000
        nn = []
        for i in range(0, 18000, rows):
            d = torch.cdist(P[i : i + rows], P)
            nn.append(d.topk(4, largest=False).indices)
            del d
        nn = torch.cat(nn)
    del a
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
