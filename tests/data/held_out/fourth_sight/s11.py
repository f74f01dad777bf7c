"""Policy optimisation: several minibatch updates over one stored rollout."""
import torch
import torch.nn as nn
from torch.distributions import Normal

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
OBS, ACT, HID, MB = (376, 17, 1024, 8192) if BIG else (24, 4, 32, 64)
torch.set_float32_matmul_precision("high")
torch.autograd.set_detect_anomaly(True)


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, HID), nn.Tanh(), nn.Linear(HID, HID), nn.Tanh(), nn.Linear(HID, HID), nn.Tanh(), nn.Linear(HID, o))


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.pi = mlp(OBS, ACT)
        self.vf = mlp(OBS, 1)
        self.log_std = nn.Parameter(torch.zeros(ACT))

    def forward(self, obs):
        return Normal(self.pi(obs), self.log_std.exp(), validate_args=False), self.vf(obs).squeeze(-1)


def setup():
    a = Agent().to(DEV)
    opt = torch.optim.Adam(a.parameters(), lr=3e-4, fused=BIG)
    roll = dict(
        obs=torch.randn(4 * MB, OBS, device=DEV),
        act=torch.randn(4 * MB, ACT, device=DEV),
        logp=torch.randn(4 * MB, device=DEV) - 20,
        adv=torch.randn(4 * MB, device=DEV),
        ret=torch.randn(4 * MB, device=DEV),
    )
    return a, opt, roll


def step(st):
    agent, opt, roll = st
    for k in range(4):
        b = {n: v[k * MB : (k + 1) * MB] for n, v in roll.items()}
        dist, val = agent(b["obs"])
        lp = dist.log_prob(b["act"]).sum(-1)
        ratio = (lp - b["logp"]).clamp(-2, 2).exp()
        pg = torch.max(-b["adv"] * ratio, -b["adv"] * ratio.clamp(0.8, 1.2)).mean()
        loss = pg + 0.5 * (val - b["ret"]).square().mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        opt.step()


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
