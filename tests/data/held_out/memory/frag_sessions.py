# request server: session state is pinned between working buffers, then a larger request comes
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


big = E(1536)
del big  # one large segment, from a warm-up request


def serve():
    state, work = [], []
    if healthy:
        state = [E(4) for _ in range(20)]  # states first, next to each other
    for i in range(20):
        work.append(E(60))
        if not healthy:
            state.append(E(16))
    work.clear()
    long_ = [E(110) for _ in range(5)]  # fits no hole of 60 MB
    return state, long_


if healthy:
    pool = E(320)
    state = list(pool.split(16 * MB))
    long_ = [E(110) for _ in range(12)]
else:
    state, long_ = serve()
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
