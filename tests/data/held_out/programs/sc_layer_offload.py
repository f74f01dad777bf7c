# weights of a large MLP live in pinned host memory and travel layer by layer, in line with the work or one layer ahead
import _h, torch

a = _h.args()
_h.turn()
D, L = 4096, 8
dt = torch.bfloat16
host = [torch.randn(D, D, dtype=dt).mul_(0.02).pin_memory() if i < 2 else None for i in range(L)]
host = [host[i % 2] for i in range(L)]
x0 = torch.randn(9216, D, device="cuda", dtype=dt)
buf = [torch.empty(D, D, device="cuda", dtype=dt) for _ in range(2)]
cs = torch.cuda.Stream()
main = torch.cuda.current_stream()


@torch.no_grad()
def planted(i):
    x = x0
    for l in range(L):
        buf[0].copy_(host[l], non_blocking=True)
        x = torch.relu(x @ buf[0])
        x = torch.relu(x @ buf[0])


free = [torch.cuda.Event() for _ in range(2)]
full = [torch.cuda.Event() for _ in range(2)]


def pre(l):
    with torch.cuda.stream(cs):
        cs.wait_event(free[l & 1])
        buf[l & 1].copy_(host[l % L], non_blocking=True)
        full[l & 1].record(cs)


for e in free:
    e.record()
started = False


@torch.no_grad()
def healthy(i):
    global started
    if not started:
        pre(0)
        started = True
    x = x0
    for l in range(L):
        pre(l + 1)
        main.wait_event(full[l & 1])
        for _ in range(4):
            x = torch.relu(x @ buf[l & 1])
        free[l & 1].record()


_h.drive(healthy if a.healthy else planted, 8, a, nvtx=True)
