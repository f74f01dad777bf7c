"""Training with per-layer activation statistics."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Monitor:
    def __init__(self, net):
        self.taps = {}
        for name, m in net.named_modules():
            if isinstance(m, nn.Linear):
                self.taps[name] = []
                m.register_forward_hook(self.tap(name))

    def tap(self, name):
        def hook(module, inputs, output):
            self.taps[name].append(output.detach())

        return hook

    def report(self):
        return {k: v[-1].float().abs().mean().item() for k, v in self.taps.items()}


def setup():
    dim = 2048
    net = nn.Sequential(
        *[m for _ in range(6) for m in (nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))], nn.Linear(dim, 256)
    ).to("cuda", torch.bfloat16)
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=True)
    x = torch.randn(16384, dim, device="cuda", dtype=torch.bfloat16)
    y = torch.randint(0, 256, (16384,), device="cuda")
    return {"net": net, "opt": opt, "x": x, "y": y, "monitor": Monitor(net)}


def step(s):
    loss = F.cross_entropy(s["net"](s["x"]), s["y"])
    loss.backward()
    s["opt"].step()
    s["opt"].zero_grad(set_to_none=True)
    s["stats"] = s["monitor"].report()


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=14, warmup=2, record_after_setup=True)
