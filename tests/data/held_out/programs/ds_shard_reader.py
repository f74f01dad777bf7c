# a reader thread inflates compressed shards from disk into a queue; or shards are raw and cached in pinned memory
import _h, torch, zlib, queue, threading, tempfile, os, numpy as np

a = _h.args()
_h.turn()
B, D = 4096, 1024
raw = np.random.randint(0, 8, (B, D)).astype(np.float32)
f = tempfile.NamedTemporaryFile(delete=False)
f.write(zlib.compress(raw.tobytes(), 1))
f.close()
q = queue.Queue(2)
pins = [torch.from_numpy(raw).pin_memory() for _ in range(2)]


def reader():
    while True:
        x = torch.from_numpy(
            np.frombuffer(
                bytearray(zlib.decompress(open(f.name, "rb").read())), np.float32
            ).reshape(B, D)
        )
        q.put(x)


if not a.healthy:
    threading.Thread(target=reader, daemon=True).start()
W = [torch.randn(D, D, device="cuda") * 0.03 for _ in range(8)]
torch.backends.cuda.matmul.allow_tf32 = True
W = [w.requires_grad_() for w in W]
opt = torch.optim.SGD(W, 1e-4)
cs = torch.cuda.Stream()
nxt = None


def train(x, rep):
    for _ in range(rep):
        opt.zero_grad()
        h = x
        for w in W:
            h = torch.relu(h @ w)
        h.mean().backward()
        opt.step()


def planted(i):
    train(q.get().pin_memory().cuda(non_blocking=True), 5)


def fetch(i):
    with torch.cuda.stream(cs):
        return pins[i & 1].to("cuda", non_blocking=True), cs.record_event()


def healthy(i):
    global nxt
    x, e = nxt or fetch(i)
    torch.cuda.current_stream().wait_event(e)
    x.record_stream(torch.cuda.current_stream())
    nxt = fetch(i + 1)
    x = x.repeat(2, 1)
    train(x, 10)


_h.drive(healthy if a.healthy else planted, 12, a, warm=4)
os.unlink(f.name)
os._exit(0)
