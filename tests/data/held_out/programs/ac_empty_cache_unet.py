# small U-Net in training; the cache is emptied after every stage, or left alone
import _h, torch, torch.nn as nn, torch.nn.functional as F

a = _h.args()
_h.turn()
cl = torch.channels_last
C = lambda i, o: nn.Sequential(
    nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1), nn.ReLU()
)


class U(nn.Module):
    def __init__(s):
        super().__init__()
        s.a, s.b, s.c, s.d, s.e = C(4, 64), C(64, 128), C(128, 256), C(384, 128), C(192, 64)

    def forward(s, x, tidy):
        p = s.a(x)
        tidy()
        q = s.b(F.max_pool2d(p, 2))
        tidy()
        r = s.c(F.max_pool2d(q, 2))
        tidy()
        u = s.d(torch.cat((F.interpolate(r, scale_factor=2), q), 1))
        tidy()
        return s.e(torch.cat((F.interpolate(u, scale_factor=2), p), 1))


m = U().cuda().to(torch.bfloat16).to(memory_format=cl)
opt = torch.optim.SGD(m.parameters(), 1e-3)
x = torch.randn(16, 4, 256, 256, device="cuda", dtype=torch.bfloat16).to(memory_format=cl)
tidy = (lambda: None) if a.healthy else torch.cuda.empty_cache


def step(i):
    opt.zero_grad(set_to_none=True)
    y = m(x, tidy)
    y.float().pow(2).mean().backward()
    tidy()
    opt.step()
    del y
    tidy()


_h.drive(step, 12, a, nvtx=True)
