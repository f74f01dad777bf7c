# feature cache keyed by request; entries are evicted, or never
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


from collections import OrderedDict

cache = OrderedDict()
w = torch.randn(512, 2048, device="cuda")
for req in range(90):
    f = torch.relu(torch.randn(2048 + 16 * (req % 7), 512, device="cuda") @ w)
    cache[("user", req)] = f
    if healthy and len(cache) > 6:
        cache.popitem(last=False)
    s = f.sum()
    del f
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
