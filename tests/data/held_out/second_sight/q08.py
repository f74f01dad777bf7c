"""Lattice Boltzmann flow in a periodic box."""
import torch

SIDE, TAU = 3072, 0.6
VEL = [(0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1)]
WGT = [4 / 9] + [1 / 9] * 4 + [1 / 36] * 4


def setup():
    y = torch.linspace(0, 6.2832, SIDE, device="cuda")[:, None]
    ux = 0.04 * torch.sin(y).expand(SIDE, SIDE)
    f = torch.stack([w * (1 + 3 * vx * ux) for (vx, vy), w in zip(VEL, WGT)])
    return {"f": f.contiguous(), "mass": 0.0}


@torch.no_grad()
def step(s):
    f = s["f"]
    for _ in range(8):
        rho = f.sum(0)
        ux = (f[1] - f[3] + f[5] - f[6] - f[7] + f[8]) / rho
        uy = (f[2] - f[4] + f[5] + f[6] - f[7] - f[8]) / rho
        usq = 1.5 * (ux * ux + uy * uy)
        out = torch.empty_like(f)
        for k, ((vx, vy), w) in enumerate(zip(VEL, WGT)):
            cu = 3.0 * (vx * ux + vy * uy)
            eq = w * rho * (1.0 + cu + 0.5 * cu * cu - usq)
            post = f[k] - (f[k] - eq) / TAU
            out[k] = torch.roll(post, (vy, vx), (0, 1))
        f = out
    s["f"] = f
    s["mass"] = f.sum().item()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=2, record_shapes=True)
