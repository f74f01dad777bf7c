# policy rollout: pendulums stepped one by one in Python, or as tensors on the GPU
import _h, torch, math

a = _h.args()
_h.turn()
N = 4096
d = "cuda"
net = torch.nn.Sequential(
    torch.nn.Linear(3, 4096),
    torch.nn.Tanh(),
    torch.nn.Linear(4096, 4096),
    torch.nn.Tanh(),
    torch.nn.Linear(4096, 4096),
    torch.nn.Tanh(),
    torch.nn.Linear(4096, 1),
).to(d)
torch.backends.cuda.matmul.allow_tf32 = True
st = [[i * 0.001, 0.0] for i in range(N)]
S = torch.zeros(8 * N, 2, device=d)


@torch.no_grad()
def python_env(i):
    u = net(torch.tensor([[math.cos(p), math.sin(p), v] for p, v in st]).to(d)).squeeze(1).tolist()
    for s, f in zip(st, u):
        for _ in range(4):
            s[1] += 0.0125 * (9.8 * math.sin(s[0]) + max(-2.0, min(2.0, f)) - 0.1 * s[1])
            s[0] = (s[0] + 0.0125 * s[1]) % 6.2831853


@torch.no_grad()
def gpu_env(i):
    global S
    for _ in range(2):
        u = net(torch.stack((S[:, 0].cos(), S[:, 0].sin(), S[:, 1]), 1)).squeeze(1).clamp(-2, 2)
        p, v = S[:, 0], S[:, 1]
        v = v + 0.05 * (9.8 * p.sin() + u - 0.1 * v)
        S = torch.stack(((p + 0.05 * v) % 6.2831853, v), 1)


_h.drive(gpu_env if a.healthy else python_env, 10, a)
