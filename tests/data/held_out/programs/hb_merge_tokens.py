# text encoder; byte-pair merges are made in Python before each batch, or were made beforehand
import _h, torch, random, torch.nn as nn

a = _h.args()
_h.turn()
random.seed(1)
enc = nn.TransformerEncoder(
    nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True, dropout=0.0), 3
).to("cuda", torch.bfloat16)
emb = nn.Embedding(4096, 512).to("cuda", torch.bfloat16)
opt = torch.optim.SGD(list(enc.parameters()) + list(emb.parameters()), 1e-3)
texts = ["".join(random.choice("etaoinshrdlu ") for _ in range(700)) for _ in range(16)]


def merge(t):
    w = [ord(c) for c in t]
    for r in range(4):
        n = {}
        for p in zip(w, w[1:]):
            n[p] = n.get(p, 0) + 1
        best = max(n, key=n.get)
        o = []
        i = 0
        while i < len(w):
            if i + 1 < len(w) and (w[i], w[i + 1]) == best:
                o.append(256 + (best[0] * 31 + best[1]) % 3000)
                i += 2
            else:
                o.append(w[i])
                i += 1
        w = o
    return (w + [0] * 512)[:512]


ready = torch.tensor([merge(t) for t in texts * 1]).pin_memory()


def train(ids):
    opt.zero_grad()
    y = enc(emb(ids))
    loss = y.float().pow(2).mean()
    loss.backward()
    opt.step()


big = ready.repeat(6, 1).cuda()


def planted(i):
    train(torch.tensor([merge(t) for t in texts]).cuda())


_h.drive((lambda i: train(big)) if a.healthy else planted, 10, a, nvtx=True)
