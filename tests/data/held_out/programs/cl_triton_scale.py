# fused scale-and-clip in Triton; the schedule's value is baked in as a constant, or passed at run time
import os, tempfile

os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
import _h, torch, triton, triton.language as tl

a = _h.args()
_h.turn()


@triton.jit
def clip_const(x, y, n, S: tl.constexpr, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.minimum(tl.maximum(v * S, -1.0), 1.0), mask=i < n)


@triton.jit
def clip_arg(x, y, n, S, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(y + i, tl.minimum(tl.maximum(v * S, -1.0), 1.0), mask=i < n)


n = 64 << 20
x = torch.randn(n, device="cuda")
y = torch.empty_like(x)
w = torch.randn(6144, 6144, device="cuda", dtype=torch.bfloat16)


def step(i):
    s = 1.0 + i * 0.013
    k = clip_arg if a.healthy else clip_const
    for _ in range(20):
        k[(triton.cdiv(n, 2048),)](x, y, n, s, B=2048)
    for _ in range(6):
        torch.mm(w, w)


_h.drive(step, 14, a, nvtx=True)
