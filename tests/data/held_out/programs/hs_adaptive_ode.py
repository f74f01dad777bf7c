# reaction-diffusion integrator: step size decided on the host from an error estimate, or on the device
import _h, torch, torch.nn.functional as F

a = _h.args()
_h.turn()
u = torch.rand(1, 16, 448, 448, device="cuda")
k = torch.randn(16, 1, 3, 3, device="cuda") * 0.01


def rhs(x):
    return F.conv2d(x, k, padding=1, groups=16) - 0.1 * x


@torch.no_grad()
def planted(i):
    global u
    dt = 0.1
    n = 0
    while n < 45:
        f = rhs(u)
        y = u + dt * f
        err = (dt * f).abs().amax().item()
        if err > 1.0:
            dt *= 0.5
        elif err < 1e-4:
            dt = min(dt * 1.5, 0.5)
        if float(y[0, 0, 0, 0]) != float(y[0, 0, 0, 0]):
            break
        u = y
        n += 1


@torch.no_grad()
def healthy(i):
    global u
    dt = torch.full((), 0.1, device="cuda")
    for n in range(45):
        f = rhs(u)
        y = u + dt * f
        err = (dt * f).abs().amax()
        dt = torch.where(err > 1.0, dt * 0.5, dt)
        u = y


if a.healthy:
    u = torch.rand(4, 16, 640, 640, device="cuda")
_h.drive(healthy if a.healthy else planted, 10, a)
