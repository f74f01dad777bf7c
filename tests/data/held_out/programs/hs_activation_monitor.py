# deep MLP with a monitor of activations after every layer: read back at once, or kept on the device
import _h, torch

a = _h.args()
_h.turn()
D, L = 2048, 40
W = [torch.randn(D, D, device="cuda", dtype=torch.bfloat16) * 0.03 for _ in range(L)]
x0 = torch.randn(3072, D, device="cuda", dtype=torch.bfloat16)
log = []


@torch.no_grad()
def planted(i):
    x = x0
    for w in W:
        x = torch.nn.functional.gelu(x @ w)
        if torch.isnan(x[:64]).any().item():
            raise SystemExit("nan")
        log.append(x[:64].abs().max().item())
        if x[:, 0].float().mean().item() > 1e9:
            x = x * 0.5


@torch.no_grad()
def healthy(i):
    m = []
    for _ in range(3):
        x = x0
        for w in W:
            x = torch.nn.functional.gelu(x @ w)
        m.append(x.abs().max())
    log.append(torch.stack(m))


_h.drive(healthy if a.healthy else planted, 12, a, nvtx=True)
