"""Intent classification service: a pool of handlers answers requests."""
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS, VOCAB, MAXLEN = 512, 8, 8, 8192, 64


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.o = nn.Linear(DIM, DIM)
        self.ff = nn.Sequential(nn.Linear(DIM, 4 * DIM), nn.GELU(), nn.Linear(4 * DIM, DIM))

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.ff(self.n2(x))


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])
        self.head = nn.Linear(DIM, 77)

    def forward(self, ids):
        return self.head(self.layers(self.emb(ids)).mean(1))


class Service:
    def __init__(self):
        self.model = Classifier().half().cuda().eval()
        self.device_lock = threading.Lock()
        self.pool = ThreadPoolExecutor(8)
        rng = random.Random(0)
        words = ["".join(rng.choice("abcdefghij") for _ in range(rng.randint(3, 9))) for _ in range(500)]
        self.texts = [" ".join(rng.choice(words) for _ in range(40)) for _ in range(96)]

    def encode(self, text):
        ids = []
        for w in text.split():
            h = 0
            for ch in w:
                h = (h * 31 + ord(ch)) % VOCAB
            ids.append(h)
        return (ids + [0] * MAXLEN)[:MAXLEN]

    @torch.inference_mode()
    def answer(self, text):
        ids = torch.tensor([self.encode(text)])
        with self.device_lock:
            probs = self.model(ids.cuda()).softmax(-1).cpu()
        top = probs[0].float().topk(3)
        return list(zip(top.indices.tolist(), top.values.tolist()))

    def close(self):
        self.pool.shutdown(wait=True)


def setup():
    return Service()


def step(svc):
    svc.results = list(svc.pool.map(svc.answer, svc.texts))


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2, record_shapes=True)
