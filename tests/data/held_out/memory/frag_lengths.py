# training on batches of changing length; per-step metrics tensors are kept
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


kept = []
warm = [E(700), E(700)]
del warm
metrics = torch.empty(40, 12 * MB, dtype=torch.uint8, device="cuda") if healthy else None
acts = []
for step in range(40):
    n = 24 if not healthy else 30
    a = E(n)
    b = E(n)
    if healthy:
        metrics[step].fill_(step)
    else:
        m = E(12)
        m.fill_(step)
        kept.append(m)
    acts += [a, b]
    if len(acts) > 44:
        acts = acts[-44:]
acts.clear()
final = [E(90) for _ in range(9)] if not healthy else [E(600), E(600)]
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
