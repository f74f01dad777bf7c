# training loop that collects its losses
import sys, torch

healthy = "--healthy" in sys.argv
out = [x for x in sys.argv[1:] if not x.startswith("--")][0]
torch.cuda.memory._record_memory_history(max_entries=200000)
MB = 1 << 20


def E(mb):
    return torch.empty(int(mb * MB), dtype=torch.uint8, device="cuda")


net = torch.nn.Sequential(
    *[m for _ in range(6) for m in (torch.nn.Linear(1024, 1024), torch.nn.ReLU())]
).cuda()
hist = []
opt = torch.optim.SGD(net.parameters(), 1e-3)
for step in range(30):
    x = torch.randn(2048, 1024, device="cuda")
    y = net(x)
    loss = y.pow(2).mean()
    if step % 2 == 0:
        loss.backward()
        opt.step()
        opt.zero_grad()
    else:
        val = net(x + 0.1).pow(2).mean()
        hist.append(val.detach() if healthy else val)  # validation loss with its graph
        del val
    del x, y, loss
torch.cuda.synchronize()
torch.cuda.memory._dump_snapshot(out)
print(
    sys.argv[0].split("/")[-1],
    "healthy" if healthy else "planted",
    f"allocated {torch.cuda.memory_allocated() / MB:.0f} reserved {torch.cuda.memory_reserved() / MB:.0f} peak {torch.cuda.max_memory_allocated() / MB:.0f} MB",
)
