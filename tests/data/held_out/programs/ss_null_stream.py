# CuPy: option books priced on eight streams of 18 blocks each; a bookkeeping copy on the null stream between them, or none
import _h, time

a = _h.args()
import cupy as cp

_h.turn()
K = cp.RawKernel(
    r"""extern "C" __global__ void book(float*y,int it){int i=blockIdx.x*blockDim.x+threadIdx.x;float a=1.f+i*1e-6f,b=.5f,c=.2f,d=.1f;
 for(int k=0;k<it;k++){a=fmaf(a,.999f,b*.001f);b=fmaf(b,.998f,a*.002f);c=fmaf(c,.997f,d*.003f);d=fmaf(d,.996f,c*.004f);} y[i]=a+b+c+d;}""",
    "book",
)
NS = 8
st = [cp.cuda.Stream(non_blocking=False) for _ in range(NS)]
y = [cp.zeros(18 * 1024, cp.float32) for _ in range(NS)]
led = cp.zeros(1024, cp.float32)


def step(i):
    for r in range(2):
        for k in range(NS):
            with st[k]:
                K((18,), (1024,), (y[k], 20000))
            if not a.healthy:
                with cp.cuda.Stream.null:
                    led[k : k + 1] = 1.0


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
print("ss_null_stream.py", "healthy" if a.healthy else "planted", f"{t * 100:.2f} ms/step")
