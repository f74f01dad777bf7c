"""Streaming transcription: the context of a live session grows chunk by chunk."""
import torch
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS = 8, 1024, 16
STREAMS, START, CHUNK = 8, 2048, 256
DT = torch.bfloat16


class Session:
    def __init__(self):
        def w(o, i):
            return torch.randn(o, i, device=DEV, dtype=DT).mul_(i**-0.5)

        self.weights = [(w(3 * DIM, DIM), w(DIM, DIM), w(4 * DIM, DIM), w(DIM, 4 * DIM)) for _ in range(LAYERS)]
        hd = DIM // HEADS
        self.keys = [torch.randn(STREAMS, HEADS, START, hd, device=DEV, dtype=DT) for _ in range(LAYERS)]
        self.values = [torch.randn(STREAMS, HEADS, START, hd, device=DEV, dtype=DT) for _ in range(LAYERS)]

    def extend(self, i, k, v):
        self.keys[i] = torch.cat([self.keys[i], k], dim=2)
        self.values[i] = torch.cat([self.values[i], v], dim=2)
        return self.keys[i], self.values[i]

    def feed(self, x):
        b, t, _ = x.shape
        for i, (qkv, out, up, down) in enumerate(self.weights):
            q, k, v = F.linear(x, qkv).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
            k, v = self.extend(i, k, v)
            a = F.scaled_dot_product_attention(q, k, v)
            x = x + F.linear(a.transpose(1, 2).reshape(b, t, DIM), out)
            x = F.rms_norm(x + F.linear(F.gelu(F.linear(x, up)), down), (DIM,))
        return x


def setup():
    return Session()


@torch.inference_mode()
def step(session):
    chunk = torch.randn(STREAMS, CHUNK, DIM, device=DEV, dtype=DT)
    session.feed(chunk)


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=18, warmup=0)
