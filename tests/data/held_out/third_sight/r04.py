"""On-policy rollouts with a batched cart-pole simulator on the device."""
import torch
import torch.nn as nn

DEV = "cuda" if torch.cuda.is_available() else "cpu"
ENVS = 1024
HORIZON = 64


class CartPoles:
    g, mc, mp, half, force, dt = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02

    def __init__(self):
        self.s = torch.empty(ENVS, 4, device=DEV).uniform_(-0.05, 0.05)

    def act(self, a):
        x, xd, th, thd = self.s.unbind(1)
        f = (a.float() * 2 - 1) * self.force
        c, s = torch.cos(th), torch.sin(th)
        total = self.mc + self.mp
        tmp = (f + self.mp * self.half * thd * thd * s) / total
        tacc = (self.g * s - c * tmp) / (self.half * (4.0 / 3.0 - self.mp * c * c / total))
        xacc = tmp - self.mp * self.half * tacc * c / total
        nxt = torch.stack([x + self.dt * xd, xd + self.dt * xacc, th + self.dt * thd, thd + self.dt * tacc], 1)
        done = (nxt[:, 0].abs() > 2.4) | (nxt[:, 2].abs() > 0.21)
        fresh = torch.empty_like(nxt).uniform_(-0.05, 0.05)
        self.s = torch.where(done[:, None], fresh, nxt)
        return 1.0 - done.float(), done


def setup():
    policy = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 3)).to(DEV)
    buf = {
        "obs": torch.zeros(HORIZON, ENVS, 4, device=DEV),
        "rew": torch.zeros(HORIZON, ENVS, device=DEV),
        "val": torch.zeros(HORIZON, ENVS, device=DEV),
        "logp": torch.zeros(HORIZON, ENVS, device=DEV),
        "done": torch.zeros(HORIZON, ENVS, device=DEV),
        "adv": torch.zeros(HORIZON, ENVS, device=DEV),
    }
    return {"env": CartPoles(), "policy": policy, "buf": buf}


@torch.no_grad()
def step(s):
    env, policy, b = s["env"], s["policy"], s["buf"]
    for t in range(HORIZON):
        out = policy(env.s)
        logits, value = out[:, :2], out[:, 2]
        logp = torch.log_softmax(logits, -1)
        u = torch.rand_like(logits).clamp_(1e-6, 1 - 1e-6)
        a = (logp - torch.log(-torch.log(u))).argmax(-1)
        b["obs"][t].copy_(env.s)
        b["val"][t].copy_(value)
        b["logp"][t].copy_(logp.gather(1, a[:, None])[:, 0])
        r, d = env.act(a)
        b["rew"][t].copy_(r)
        b["done"][t].copy_(d)
    nxt = torch.zeros(ENVS, device=DEV)
    gae = torch.zeros(ENVS, device=DEV)
    for t in reversed(range(HORIZON)):
        live = 1.0 - b["done"][t]
        delta = b["rew"][t] + 0.99 * nxt * live - b["val"][t]
        gae = delta + 0.99 * 0.95 * live * gae
        b["adv"][t].copy_(gae)
        nxt = b["val"][t]


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=2)
