"""Predictive control of a robot fleet with a learned dynamics model."""
import torch
import torch.nn as nn

ROBOTS, STATE, ACT, HORIZON = 2048, 24, 6, 48


class Dynamics(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(STATE + ACT, 256), nn.SiLU(), nn.Linear(256, 256), nn.SiLU(), nn.Linear(256, STATE))

    def forward(self, x, u):
        return x + 0.05 * self.f(torch.cat([x, u], 1))


class Planner:
    def __init__(self):
        self.model = Dynamics().cuda().requires_grad_(False)
        self.x0 = torch.zeros(ROBOTS, STATE, device="cuda")
        self.plan = torch.zeros(HORIZON, ROBOTS, ACT, device="cuda")
        self.graphs = {}

    def refine(self, goal):
        noise = 0.1 * torch.randn_like(self.plan)
        trial = self.plan + noise
        cost = []
        for us in (self.plan, trial):
            x, c = self.x0, 0.0
            for t in range(HORIZON):
                x = self.model(x, us[t])
                c = c + (x - goal).square().sum(1)
            cost.append(c)
        better = (cost[1] < cost[0])[None, :, None]
        self.plan.copy_(torch.where(better, trial, self.plan))

    def solve(self, x0, goal):
        key = goal.data_ptr()
        if key not in self.graphs:
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                self.refine(goal)
            self.graphs[key] = (g, goal)
        self.x0.copy_(x0)
        self.graphs[key][0].replay()
        return self.plan[0].cpu()


def setup():
    p = Planner()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        p.refine(torch.zeros(ROBOTS, STATE, device="cuda"))
    torch.cuda.current_stream().wait_stream(side)
    return {"planner": p, "x": torch.zeros(ROBOTS, STATE).pin_memory()}


@torch.no_grad()
def step(s):
    goal = torch.randn(ROBOTS, STATE).to("cuda")
    s["u"] = s["planner"].solve(s["x"].to("cuda", non_blocking=True), goal)


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=16, warmup=2)
