"""Planning by tree search in the latent space of a world model."""
import gc
import random

import torch
import torch.nn as nn

CH, SIDE, ACTIONS, SIMS = 128, 32, 6, 48


class Node:
    def __init__(self, latent, parent=None):
        self.latent = latent
        self.parent = parent
        self.children = {}
        self.visits = 0

    def expand(self, action, latent):
        self.children[action] = Node(latent, self)
        return self.children[action]

    def path(self):
        n = self
        while n is not None:
            yield n
            n = n.parent


class World(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(4, CH, 3, padding=1), nn.ReLU(), nn.Conv2d(CH, CH, 3, padding=1))
        self.dyn = nn.Sequential(nn.Conv2d(CH + 1, CH, 3, padding=1), nn.ReLU(), nn.Conv2d(CH, CH, 3, padding=1))

    def advance(self, z, action):
        plane = torch.full_like(z[:, :1], action / ACTIONS)
        return z + self.dyn(torch.cat([z, plane], 1))


def setup():
    gc.collect()
    gc.disable()
    return {"world": World().cuda().half().eval(), "rng": random.Random(0), "plan": []}


@torch.inference_mode()
def step(s):
    world, rng = s["world"], s["rng"]
    obs = torch.rand(8, 4, SIDE, SIDE, device="cuda", dtype=torch.half)
    root = Node(world.enc(obs))
    for _ in range(SIMS):
        node = root
        a = rng.randrange(ACTIONS)
        while a in node.children:
            node = node.children[a]
            a = rng.randrange(ACTIONS)
        leaf = node.expand(a, world.advance(node.latent, a))
        for n in leaf.path():
            n.visits += 1
    s["plan"].append(max(root.children, key=lambda a: root.children[a].visits))


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=15)
