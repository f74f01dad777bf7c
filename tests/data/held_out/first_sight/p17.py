"""Scoring a large host-resident matrix of features in chunks."""
import torch

ROWS, DIM, HIDDEN = 49152, 2048, 8192


class Feeder:
    def __init__(self, host):
        self.host = host
        self.side = torch.cuda.Stream()
        self.i = 0

    def fetch(self):
        cur = torch.cuda.current_stream()
        self.side.wait_stream(cur)
        with torch.cuda.stream(self.side):
            x = self.host[self.i % len(self.host)].to("cuda", non_blocking=True)
        cur.wait_stream(self.side)
        x.record_stream(cur)
        self.i += 1
        return x


def setup():
    host = [torch.randn(ROWS, DIM).to(torch.bfloat16).pin_memory() for _ in range(3)]
    feeder = Feeder(host)
    f = dict(device="cuda", dtype=torch.bfloat16)
    return {
        "feeder": feeder,
        "w1": torch.randn(DIM, HIDDEN, **f) / DIM**0.5,
        "w2": torch.randn(HIDDEN, 128, **f) / HIDDEN**0.5,
        "cur": feeder.fetch(),
        "score": torch.zeros(128, device="cuda"),
    }


@torch.no_grad()
def step(s):
    for _ in range(4):
        upcoming = s["feeder"].fetch()
        h = torch.relu_(s["cur"] @ s["w1"])
        s["score"] += (h @ s["w2"]).amax(0).float()
        s["cur"] = upcoming


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2, record_shapes=True)
