# JAX: sequences of a new length in each step, jitted for every length or padded to one
import os

os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "false"
import _h, time, ctypes

a = _h.args()
import numpy as np, jax, jax.numpy as jnp

_h.turn()
rt = None
for n in ("libcudart.so.13", "libcudart.so", "libcudart.so.12"):
    try:
        rt = ctypes.CDLL(n)
        break
    except OSError:
        pass
if rt is None:
    import glob, site

    for b in site.getsitepackages():
        for f in glob.glob(b + "/nvidia/**/libcudart.so*", recursive=True):
            rt = rt or ctypes.CDLL(f)
D = 2048
W = [jnp.asarray(np.random.randn(D, D).astype(np.float32) * 0.02, jnp.bfloat16) for _ in range(4)]


@jax.jit
def f(x, ws):
    for w in ws:
        x = jax.nn.gelu(x @ w) + x
    return x.astype(jnp.float32).mean()


lens = [8000 + 37 * i for i in range(20)]
data = np.ones((16384, D), np.float32)
dev = jnp.asarray(data, jnp.bfloat16)
pre = {n: dev[:n] for n in lens} if not a.healthy else {}


def step(i):
    n = lens[i]
    if a.healthy:
        o = [f(dev, W) for _ in range(8)][-1]
    else:
        o = f(pre[n], W)
    return o


N = 12 if a.healthy else 8
r = [step(i) for i in range(2)]
jax.block_until_ready(r)
rt.cudaProfilerStart()
t = time.time()
r = [step(i) for i in range(3, 3 + N)]
jax.block_until_ready(r)
t = time.time() - t
rt.cudaProfilerStop()
print("cl_jax_lengths.py", "healthy" if a.healthy else "planted", f"{t / N * 1e3:.2f} ms/step")
