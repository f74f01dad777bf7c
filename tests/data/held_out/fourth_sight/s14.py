"""Document embedding service: handle a burst of requests of mixed size."""
import torch
import torch.nn as nn

from runner import main

DEV = "cuda" if torch.cuda.is_available() else "cpu"
DT = torch.float16 if DEV == "cuda" else torch.float32
D, LAYERS, T = (1024, 6, 512) if DEV == "cuda" else (32, 2, 16)


class Service:
    def __init__(self):
        self.emb = nn.Embedding(30000, D).to(DEV, DT)
        self.layers = nn.ModuleList(
            [
                nn.ModuleDict(
                    dict(
                        n1=nn.LayerNorm(D),
                        qkv=nn.Linear(D, 3 * D),
                        o=nn.Linear(D, D),
                        n2=nn.LayerNorm(D),
                        up=nn.Linear(D, 4 * D),
                        down=nn.Linear(4 * D, D),
                    )
                )
                for _ in range(LAYERS)
            ]
        ).to(DEV, DT)
        self.queue = [torch.randint(0, 30000, (b, T)) for b in (16, 24, 16, 20)]
        if DEV == "cuda":
            self.queue = [q.pin_memory() for q in self.queue]

    def encode(self, ids):
        x = self.emb(ids)
        b = x.shape[0]
        for m in self.layers:
            q, k, v = m["qkv"](m["n1"](x)).view(b, T, 3, D // 64 or 1, -1).permute(2, 0, 3, 1, 4)
            a = nn.functional.scaled_dot_product_attention(q, k, v)
            x = x + m["o"](a.transpose(1, 2).reshape(b, T, D))
            x = x + m["down"](nn.functional.gelu(m["up"](m["n2"](x))))
        return nn.functional.normalize(x.mean(1), dim=-1)

    @torch.inference_mode()
    def handle(self, ids):
        out = self.encode(ids.to(DEV, non_blocking=True)).cpu()
        self.tidy()
        return out

    def tidy(self):
        if DEV == "cuda":
            torch.cuda.empty_cache()


def setup():
    return Service()


def step(svc):
    for ids in svc.queue:
        svc.handle(ids)


if __name__ == "__main__":
    main(setup, step, steps=8, warmup=3)
