# inference with a captured graph; the graph is kept though its results are gone and it is not replayed
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


w = torch.randn(2048, 2048, device="cuda")
x = torch.randn(16384, 2048, device="cuda")


def f(x):
    for _ in range(4):
        x = torch.relu(x @ w) + 1
    return x


s = torch.cuda.Stream()
s.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(s):
    f(x[:64])
torch.cuda.current_stream().wait_stream(s)
torch.cuda.synchronize()
g = torch.cuda.CUDAGraph()
if healthy:
    with torch.cuda.graph(g):
        y = torch.relu_(x @ w)  # result stays alive in the pool
    for _ in range(3):
        g.replay()
else:
    with torch.cuda.graph(g):
        y = f(x)
    g.replay()
    r = y.sum().item()
    del y
    for _ in range(3):
        z = f(x[:4096])
    del z
    torch.cuda.synchronize()
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
