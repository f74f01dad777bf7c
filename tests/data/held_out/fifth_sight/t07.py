"""Actor and learner for a pool of image environments stepped in lock-step."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
BIG = DEV == "cuda"
ENVS = 512 if BIG else 8
ACTIONS = 18
DT = torch.bfloat16


class Pool:
    def __init__(self, n):
        rng = np.random.default_rng(0)
        self.frames = rng.integers(0, 255, (n + 16, 4, 84, 84), dtype=np.uint8)
        self.n, self.t = n, 0
        self.reward = rng.standard_normal((16, n)).astype(np.float32)

    def step(self, actions):
        self.t = (self.t + 1) % 16
        obs = [self.frames[i + self.t] for i in range(self.n)]
        return obs, self.reward[self.t]


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(4, 64, 8, 4), nn.ReLU(inplace=True),
            nn.Conv2d(64, 128, 4, 2), nn.ReLU(inplace=True),
            nn.Conv2d(128, 128, 3, 1), nn.ReLU(inplace=True),
        )
        self.fc = nn.Linear(128 * 49, 1024)
        self.pi = nn.Linear(1024, ACTIONS)
        self.v = nn.Linear(1024, 1)

    def forward(self, x):
        h = F.relu(self.fc(self.conv(x).flatten(1)))
        return self.pi(h), self.v(h).squeeze(1)


def setup():
    net = Policy().to(DEV, DT, memory_format=torch.channels_last)
    opt = torch.optim.RMSprop(net.parameters(), lr=1e-4)
    pool = Pool(ENVS)
    obs, _ = pool.step(None)
    return {"net": net, "opt": opt, "pool": pool, "obs": obs}


def step(s):
    batch = torch.stack([torch.from_numpy(o).to(DEV) for o in s["obs"]])
    x = batch.to(DT).mul_(1 / 255).contiguous(memory_format=torch.channels_last)
    logits, value = s["net"](x)
    logp = F.log_softmax(logits.float(), -1)
    act = torch.multinomial(logp.detach().exp(), 1)
    s["obs"], reward = s["pool"].step(act.cpu().numpy())
    r = torch.from_numpy(reward).to(DEV)
    adv = r - value.float()
    loss = -(logp.gather(1, act).squeeze(1) * adv.detach()).mean() + 0.5 * adv.square().mean()
    s["opt"].zero_grad(set_to_none=True)
    loss.backward()
    s["opt"].step()


if __name__ == "__main__":
    main(setup, step, steps=10, warmup=3)
