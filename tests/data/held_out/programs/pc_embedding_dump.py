# embedding service writing its vectors back to host memory
import _h, torch

a = _h.args()
_h.turn()
D = 1024
W = [torch.randn(D, 4 * D, device="cuda", dtype=torch.float16) * 0.02 for _ in range(3)]
V = [torch.randn(4 * D, D, device="cuda", dtype=torch.float16) * 0.02 for _ in range(3)]
x0 = torch.randn(49152, D, device="cuda", dtype=torch.float16)
host = [torch.empty(49152, D, dtype=torch.float16, pin_memory=True) for _ in range(2)]
cs = torch.cuda.Stream()
keep = []


@torch.no_grad()
def enc(r=1):
    x = x0
    for _ in range(r):
        for w, v in zip(W, V):
            x = x + torch.relu(x @ w) @ v
    return x


def planted(i):
    keep.append(enc(1).cpu())
    del keep[:-2]


def healthy(i):
    x = enc(2)
    cs.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(cs):
        host[i & 1].copy_(x, non_blocking=True)
    x.record_stream(cs)


_h.drive(healthy if a.healthy else planted, 10, a)
