# decoder with one captured graph per batch size
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


w = torch.randn(1024, 4096, device="cuda", dtype=torch.bfloat16)
v = torch.randn(4096, 1024, device="cuda", dtype=torch.bfloat16)
kv = E(300)
sizes = (2048, 4096, 8192, 16384, 32768)
graphs = {}
s = torch.cuda.Stream()
with torch.cuda.stream(s):
    torch.relu(torch.randn(64, 1024, device="cuda", dtype=torch.bfloat16) @ w) @ v
torch.cuda.synchronize()
xin = torch.randn(32768, 1024, device="cuda", dtype=torch.bfloat16)
for b in sizes:
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        y = torch.relu(xin[:b] @ w) @ v
    g.replay()
    torch.cuda.synchronize()
    del y
    graphs[b] = g
del g
if healthy:  # graphs are dropped before eager work goes on
    for g in graphs.values():
        g.reset()
    graphs.clear()
    g = None
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
y = xin[:1024] @ w
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
