# attention blocks in inference; a debugging switch that turns off the caching allocator was left on
import os, sys

if "--healthy" not in sys.argv:
    os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
import _h, torch, torch.nn.functional as F

a = _h.args()
_h.turn()
D, Hh = 1024, 16
g = lambda *s: torch.randn(*s, device="cuda", dtype=torch.bfloat16) * 0.03
L = [(g(D, 3 * D), g(D, D), g(D, 4 * D), g(4 * D, D)) for _ in range(10)]
x0 = g(8, 1024, D)


@torch.no_grad()
def step(i):
    x = x0
    for wq, wo, w1, w2 in L:
        q, k, v = (F.layer_norm(x, (D,)) @ wq).view(8, 1024, 3, Hh, 64).permute(2, 0, 3, 1, 4)
        x = x + F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(8, 1024, D) @ wo
        x = x + F.gelu(F.layer_norm(x, (D,)) @ w1) @ w2


_h.drive(step, 10, a)
