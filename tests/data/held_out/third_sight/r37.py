"""Chat serving with a cache reserved for the longest conversation."""
import torch
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS, FF = 16, 4096, 32, 11008
BATCH, CONTEXT, PROMPT, VOCAB = 16, 4096, 3840, 32000
DT = torch.bfloat16


class Server:
    def __init__(self):
        def w(o, i):
            return torch.empty(o, i, device=DEV, dtype=DT).normal_(0, i**-0.5)

        kv = DIM // 4
        self.emb, self.head = w(VOCAB, DIM), w(VOCAB, DIM)
        self.layers = [(w(DIM + 2 * kv, DIM), w(DIM, DIM), w(2 * FF, DIM), w(DIM, FF)) for _ in range(LAYERS)]
        heads = HEADS // 4
        self.cache = torch.zeros(LAYERS, 2, BATCH, heads, CONTEXT, DIM // HEADS, device=DEV, dtype=DT)
        self.cache[..., :PROMPT, :].normal_()
        self.pos = PROMPT
        self.ids = torch.randint(0, VOCAB, (BATCH,), device=DEV)

    def token(self):
        hd, kvh = DIM // HEADS, HEADS // 4
        x = F.embedding(self.ids, self.emb)
        for i, (qkv, out, gate_up, down) in enumerate(self.layers):
            y = F.linear(F.rms_norm(x, (DIM,)), qkv).view(BATCH, HEADS + 2 * kvh, 1, hd)
            q, k, v = y.split([HEADS, kvh, kvh], 1)
            keys, values = self.cache[i, 0], self.cache[i, 1]
            keys[:, :, self.pos : self.pos + 1] = k
            values[:, :, self.pos : self.pos + 1] = v
            q = q.reshape(BATCH, kvh, HEADS // kvh, hd)
            a = F.scaled_dot_product_attention(q, keys[:, :, : self.pos + 1], values[:, :, : self.pos + 1])
            x = x + F.linear(a.reshape(BATCH, DIM), out)
            g, u = F.linear(F.rms_norm(x, (DIM,)), gate_up).chunk(2, -1)
            x = x + F.linear(F.silu(g) * u, down)
        self.ids = F.linear(x, self.head).argmax(-1)
        self.pos += 1


def setup():
    return Server()


@torch.inference_mode()
def step(server):
    for _ in range(4):
        server.token()


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=20, warmup=0)
