"""Batched token generation with a sliding-window cache."""
import torch
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS, FF = 12, 4096, 32, 11008
BATCH, WINDOW, VOCAB = 16, 512, 32000
TOKENS = 16
DT = torch.bfloat16


class Decoder:
    def __init__(self):
        def w(o, i):
            return torch.randn(o, i, device=DEV, dtype=DT).mul_(i**-0.5)

        hd = DIM // HEADS
        self.emb = w(VOCAB, DIM)
        self.head = w(VOCAB, DIM)
        self.layers = []
        for _ in range(LAYERS):
            self.layers.append(
                {
                    "qkv": w(3 * DIM, DIM),
                    "out": w(DIM, DIM),
                    "gate_up": w(2 * FF, DIM),
                    "down": w(DIM, FF),
                    "n1": torch.ones(DIM, device=DEV, dtype=DT),
                    "n2": torch.ones(DIM, device=DEV, dtype=DT),
                    "k": torch.randn(BATCH, HEADS, WINDOW, hd, device=DEV, dtype=DT),
                    "v": torch.randn(BATCH, HEADS, WINDOW, hd, device=DEV, dtype=DT),
                }
            )
        self.ids = torch.randint(0, VOCAB, (BATCH,), device=DEV)
        self.slot = torch.zeros(1, dtype=torch.long, device=DEV)

    def token(self):
        hd = DIM // HEADS
        x = F.embedding(self.ids, self.emb)
        for p in self.layers:
            h = F.rms_norm(x, (DIM,), p["n1"])
            q, k, v = F.linear(h, p["qkv"]).view(BATCH, 3, HEADS, 1, hd).unbind(1)
            p["k"].index_copy_(2, self.slot, k)
            p["v"].index_copy_(2, self.slot, v)
            a = F.scaled_dot_product_attention(q, p["k"], p["v"])
            x = x + F.linear(a.reshape(BATCH, DIM), p["out"])
            h = F.rms_norm(x, (DIM,), p["n2"])
            g, u = F.linear(h, p["gate_up"]).chunk(2, -1)
            x = x + F.linear(F.silu(g) * u, p["down"])
        self.ids.copy_(F.linear(x, self.head).argmax(-1))
        self.slot.add_(1).remainder_(WINDOW)


def setup():
    dec = Decoder()
    with torch.inference_mode():
        if DEV == "cuda":
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                for _ in range(2):
                    dec.token()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                dec.token()
            call = graph.replay
        else:
            call = dec.token
    return {"dec": dec, "call": call}


def step(s):
    with torch.inference_mode():
        for _ in range(TOKENS):
            s["call"]()


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=6, warmup=2)
