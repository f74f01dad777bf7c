# six sensor branches, each too small to fill the GPU, on six streams; chained by events, or left free until the join
import os, tempfile

os.environ.setdefault("TRITON_CACHE_DIR", os.path.join(tempfile.gettempdir(), "heldout_triton"))
import _h, torch, triton, triton.language as tl

a = _h.args()
_h.turn()
NS = 6
P = 44


@triton.jit
def tracker(x, y, it, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    s = v * 0.0
    for k in range(it):
        v = v * 0.999 + s * 0.01
        s = s * 0.98 + v * 0.02
    tl.store(y + i, v + s)


x = [torch.randn(P * 2048, device="cuda") for _ in range(NS)]
y = [torch.empty_like(t) for t in x]
st = [torch.cuda.Stream() for _ in range(NS)]
main = torch.cuda.current_stream()
dst = torch.empty(NS * P * 2048, device="cuda")


def step(i):
    for r in range(3):
        prev = None
        for k in range(NS):
            st[k].wait_stream(main)
            if prev is not None and not a.healthy:
                st[k].wait_event(prev)
            with torch.cuda.stream(st[k]):
                tracker[(P,)](x[k], y[k], 30000, B=2048, num_warps=8)
                prev = st[k].record_event()
        for s in st:
            main.wait_stream(s)
    torch.cat(y, out=dst)


_h.drive(step, 10, a, nvtx=True)
