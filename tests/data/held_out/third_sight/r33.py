"""Document ranking: training with a validation batch after each update."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DEV = "cuda" if torch.cuda.is_available() else "cpu"
LAYERS, DIM, HEADS = 6, 512, 8
BATCH, SEQ, VOCAB = 64, 128, 20000


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(DIM), nn.LayerNorm(DIM)
        self.qkv, self.out = nn.Linear(DIM, 3 * DIM), nn.Linear(DIM, DIM)
        self.up, self.down = nn.Linear(DIM, 4 * DIM), nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, HEADS, DIM // HEADS).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, DIM)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.score = nn.Linear(DIM, 1)

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.score(x.mean(1)).squeeze(1)


class Trainer:
    def __init__(self):
        self.model = Ranker().to(DEV, torch.bfloat16)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=1e-4)
        self.val_total = torch.zeros((), device=DEV)
        self.val_count = 0

    def batch(self):
        return torch.randint(0, VOCAB, (BATCH, SEQ), device=DEV), torch.rand(BATCH, device=DEV)

    def train_batch(self):
        self.model.train()
        ids, y = self.batch()
        loss = F.mse_loss(self.model(ids).float(), y)
        loss.backward()
        self.opt.step()
        self.opt.zero_grad(set_to_none=True)

    def validate_batch(self):
        self.model.eval()
        ids, y = self.batch()
        self.val_total = self.val_total + F.mse_loss(self.model(ids).float(), y)
        self.val_count += 1


def setup():
    return Trainer()


def step(t):
    t.train_batch()
    t.validate_batch()


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=20, warmup=0)
