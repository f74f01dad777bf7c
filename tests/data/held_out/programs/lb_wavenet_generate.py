# audio model: dilated layers; sample-by-sample generation, or teacher-forced evaluation of whole clips
import _h, torch, torch.nn.functional as F

a = _h.args()
_h.turn()
C, L = 64, 24
d = "cuda"
W = [torch.randn(2 * C, C, device=d) * 0.1 for _ in range(L)]
V = [torch.randn(C, C, device=d) * 0.1 for _ in range(L)]
Wc = [torch.randn(2 * C, C, 2, device=d) * 0.1 for _ in range(L)]
torch.backends.cudnn.allow_tf32 = True
torch.backends.cuda.matmul.allow_tf32 = True


@torch.no_grad()
def generate(i):
    x = torch.randn(1, C, device=d)
    for t in range(5):
        s = torch.zeros_like(x)
        for l in range(L):
            g = x @ W[l].t()
            z = torch.tanh(g[:, :C]) * torch.sigmoid(g[:, C:])
            s = s + z
            x = x + z @ V[l]
        x = torch.tanh(s)


clip = torch.randn(16, C, 16384, device=d)


@torch.no_grad()
def evaluate(i):
    x = clip
    s = 0
    for l in range(18):
        dil = 2 ** (l % 9)
        g = F.conv1d(F.pad(x, (dil, 0)), Wc[l], dilation=dil)
        p, q = g.chunk(2, 1)
        z = torch.tanh(p) * torch.sigmoid(q)
        s = s + z
        x = x + z
    return s


_h.drive(evaluate if a.healthy else generate, 12, a, nvtx=True)
