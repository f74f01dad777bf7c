# language-model head and loss over all tokens at once, or over slices
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


V, D, N = 32000, 512, 6144
emb = torch.randn(V, D, device="cuda", dtype=torch.bfloat16) * 0.02
params = [E(100) for _ in range(4)]
for step in range(4):
    h = torch.randn(N, D, device="cuda", dtype=torch.bfloat16)
    t = torch.randint(0, V, (N,), device="cuda")
    work = [E(40) for _ in range(5)]
    with torch.no_grad():
        k = 16 if healthy else 1
        loss = 0
        for hs, ts in zip(h.chunk(k), t.chunk(k)):
            lg = (hs @ emb.t()).float()
            lp = torch.log_softmax(lg, -1)
            loss = loss - lp.gather(1, ts[:, None]).sum()
            del lg, lp
    del work, h, t
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
