# CuPy: tiles of a survey are smoothed and returned; one stream for everything, or three streams in turn
import _h, sys, time, os

a = _h.args()
import numpy as np, cupy as cp, cupyx

_h.turn()
K = cp.RawKernel(
    r"""extern "C" __global__ void smooth(const float*x,float*y,int n,int it){int i=blockIdx.x*blockDim.x+threadIdx.x;if(i>=n)return;float a=x[i],b=x[(i+1)%n],c=.1f;
 for(int k=0;k<it;k++){a=fmaf(b,.3f,a*.7f);b=fmaf(a,.2f,c);c=fmaf(c,.9f,a*.01f);} y[i]=a+b+c;}""",
    "smooth",
)
n = 12 << 20
hin = [cupyx.empty_pinned(n, np.float32) for _ in range(3)]
hout = [cupyx.empty_pinned(n, np.float32) for _ in range(3)]
for h in hin:
    h[:] = 1
xs = [cp.empty(n, cp.float32) for _ in range(3)]
ys = [cp.empty(n, cp.float32) for _ in range(3)]
st = [cp.cuda.Stream(non_blocking=True) for _ in range(3)]
it = 2600 if a.healthy else 1000


def step(i):
    for t in range(3):
        s = st[t if a.healthy else 0]
        with s:
            xs[t].set(hin[t], stream=s)
            K((n // 256,), (256,), (xs[t], ys[t], n, it))
            ys[t].get(stream=s, out=hout[t], blocking=False)


for i in range(2):
    step(i)
cp.cuda.Device().synchronize()
cp.cuda.profiler.start()
t = time.time()
for i in range(10):
    step(i)
cp.cuda.Device().synchronize()
t = time.time() - t
cp.cuda.profiler.stop()
print("sc_tiles_cupy.py", "healthy" if a.healthy else "planted", f"{t * 100:.2f} ms/step")
