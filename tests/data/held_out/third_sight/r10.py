"""Text generation, one token per step for a batch of conversations."""
import torch
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS, FF = 16, 2048, 16, 5632
BATCH, PROMPT, VOCAB = 16, 3072, 32000
DT = torch.bfloat16


class Decoder:
    def __init__(self):
        def w(o, i):
            return torch.randn(o, i, device=DEV, dtype=DT).mul_(i**-0.5)

        hd = DIM // HEADS
        self.emb, self.head = w(VOCAB, DIM), w(VOCAB, DIM)
        self.layers, self.past = [], []
        for _ in range(LAYERS):
            self.layers.append((w(3 * DIM, DIM), w(DIM, DIM), w(2 * FF, DIM), w(DIM, FF)))
            self.past.append(
                (
                    torch.randn(BATCH, HEADS, PROMPT, hd, device=DEV, dtype=DT),
                    torch.randn(BATCH, HEADS, PROMPT, hd, device=DEV, dtype=DT),
                )
            )

    def attend(self, i, q, k, v):
        k = torch.cat([self.past[i][0], k], dim=2)
        v = torch.cat([self.past[i][1], v], dim=2)
        self.past[i] = (k, v)
        return F.scaled_dot_product_attention(q, k, v)

    def __call__(self, ids):
        hd = DIM // HEADS
        x = F.embedding(ids, self.emb)
        for i, (qkv, out, gate_up, down) in enumerate(self.layers):
            q, k, v = F.linear(F.rms_norm(x, (DIM,)), qkv).view(BATCH, 3, HEADS, 1, hd).unbind(1)
            x = x + F.linear(self.attend(i, q, k, v).reshape(BATCH, DIM), out)
            g, u = F.linear(F.rms_norm(x, (DIM,)), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(g) * u, down)
        return F.linear(x, self.head).argmax(-1)


def setup():
    return {"model": Decoder(), "ids": torch.randint(0, VOCAB, (BATCH,), device=DEV)}


@torch.inference_mode()
def step(s):
    s["ids"] = s["model"](s["ids"])


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=20, warmup=4)
