"""Off-policy control: updates from a replay memory."""
import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

OBS, ACT, BATCH, UPDATES = 48, 8, 256, 2


def mlp(i, o):
    return nn.Sequential(nn.Linear(i, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, o))


class Memory:
    def __init__(self, size):
        self.items = deque(maxlen=size)

    def add(self, *transition):
        self.items.append(transition)

    def sample(self, n):
        picked = random.sample(self.items, n)
        return [torch.stack([torch.as_tensor(x, device="cuda") for x in col]) for col in zip(*picked)]


def setup():
    rng = np.random.default_rng(0)
    mem = Memory(4000)
    for _ in range(4000):
        mem.add(
            rng.standard_normal(OBS, dtype=np.float32),
            rng.uniform(-1, 1, ACT).astype(np.float32),
            np.float32(rng.normal()),
            rng.standard_normal(OBS, dtype=np.float32),
            np.float32(rng.random() < 0.02),
        )
    actor = mlp(OBS, ACT).cuda()
    critic = mlp(OBS + ACT, 1).cuda()
    return {
        "mem": mem,
        "actor": actor,
        "critic": critic,
        "target": copy.deepcopy(critic).requires_grad_(False),
        "oa": torch.optim.Adam(actor.parameters(), 3e-4, fused=True),
        "oc": torch.optim.Adam(critic.parameters(), 3e-4, fused=True),
    }


def step(s):
    for _ in range(UPDATES):
        obs, act, rew, nxt, done = s["mem"].sample(BATCH)
        with torch.no_grad():
            q = s["target"](torch.cat([nxt, s["actor"](nxt).tanh()], 1)).squeeze(1)
            goal = rew + 0.99 * (1 - done) * q
        loss = F.mse_loss(s["critic"](torch.cat([obs, act], 1)).squeeze(1), goal)
        s["oc"].zero_grad(set_to_none=True)
        loss.backward()
        s["oc"].step()
        gain = -s["critic"](torch.cat([obs, s["actor"](obs).tanh()], 1)).mean()
        s["oa"].zero_grad(set_to_none=True)
        gain.backward()
        s["oa"].step()
        with torch.no_grad():
            torch._foreach_lerp_(list(s["target"].parameters()), list(s["critic"].parameters()), 0.005)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=8, warmup=2, record_shapes=True)
