"""Actor-critic on a batch of pendulum-like simulators."""
import math
import random

import numpy as np
import torch
import torch.nn as nn

N_ENV, HORIZON = 64, 32


class Pole:
    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.reset()

    def reset(self):
        self.x = self.rng.uniform(-0.05, 0.05)
        self.v = 0.0
        self.th = self.rng.uniform(-0.05, 0.05)
        self.w = 0.0
        self.t = 0
        return self.obs()

    def obs(self):
        return [self.x, self.v, math.sin(self.th), math.cos(self.th), self.w, self.t / 500.0]

    def step(self, action):
        force = (action - 2) * 5.0
        for _ in range(24):
            s, c = math.sin(self.th), math.cos(self.th)
            tmp = (force + 0.05 * self.w * self.w * s) / 1.1
            acc = (9.8 * s - c * tmp) / (0.5 * (4.0 / 3.0 - 0.1 * c * c / 1.1))
            self.w += 0.0008 * acc
            self.th += 0.0008 * self.w
            self.v += 0.0008 * (tmp - 0.05 * acc * c / 1.1)
            self.x += 0.0008 * self.v
        self.t += 1
        done = abs(self.th) > 0.6 or abs(self.x) > 3.0 or self.t >= 500
        reward = 1.0 - abs(self.th)
        return (self.reset() if done else self.obs()), reward, done


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 256), nn.Tanh(), nn.Linear(256, 256), nn.Tanh())
        self.pi = nn.Linear(256, 5)
        self.v = nn.Linear(256, 1)

    def forward(self, o):
        h = self.body(o)
        return self.pi(h), self.v(h).squeeze(-1)


def setup():
    envs = [Pole(i) for i in range(N_ENV)]
    agent = Agent().cuda()
    obs = np.asarray([e.reset() for e in envs], dtype=np.float32)
    return {"envs": envs, "agent": agent, "opt": torch.optim.Adam(agent.parameters(), 3e-4, fused=True), "obs": obs}


def step(s):
    agent, envs = s["agent"], s["envs"]
    obs_l, act_l, rew_l, done_l = [], [], [], []
    for _ in range(HORIZON):
        o = torch.from_numpy(s["obs"]).cuda()
        with torch.no_grad():
            logits, _ = agent(o)
            act = torch.multinomial(logits.softmax(-1), 1).squeeze(-1)
        results = [e.step(a) for e, a in zip(envs, act.tolist())]
        s["obs"] = np.asarray([r[0] for r in results], dtype=np.float32)
        obs_l.append(o)
        act_l.append(act)
        rew_l.append([r[1] for r in results])
        done_l.append([float(r[2]) for r in results])
    rew = torch.tensor(rew_l, device="cuda")
    done = torch.tensor(done_l, device="cuda")
    ret = torch.empty_like(rew)
    acc = torch.zeros(N_ENV, device="cuda")
    for t in reversed(range(HORIZON)):
        acc = rew[t] + 0.99 * acc * (1 - done[t])
        ret[t] = acc
    logits, value = agent(torch.cat(obs_l))
    adv = ret.flatten() - value
    logp = logits.log_softmax(-1).gather(1, torch.cat(act_l)[:, None]).squeeze(1)
    loss = -(logp * adv.detach()).mean() + 0.5 * adv.pow(2).mean()
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2, with_stack=True)
