"""Layer weights kept in pieces and assembled ahead of use."""
import torch
import torch.nn.functional as F

DIM, LAYERS, PIECES, TOKENS = 2048, 40, 4, 12288


def setup():
    f = dict(device="cuda", dtype=torch.bfloat16)
    per = 8 * DIM * DIM // PIECES
    return {
        "pieces": [torch.randn(per, **f) / DIM**0.5 for _ in range(LAYERS)],
        "side": torch.cuda.Stream(),
        "x": torch.randn(TOKENS, DIM, **f),
    }


def assemble(s, i):
    work = torch.cuda.current_stream()
    with torch.cuda.stream(s["side"]):
        whole = torch.cat([s["pieces"][i]] * PIECES)
    work.wait_stream(s["side"])
    whole.record_stream(work)
    return whole.view(2, 4 * DIM, DIM)


@torch.no_grad()
def step(s):
    h = s["x"]
    ahead = assemble(s, 0)
    for i in range(LAYERS):
        up, down = ahead
        ahead = assemble(s, i + 1) if i + 1 < LAYERS else None
        h = h + F.gelu(h @ up.t()) @ down
        h = h * torch.rsqrt(h.square().mean(-1, keepdim=True) + 1e-6)
        del up, down
    s["out"] = h


if __name__ == "__main__":
    from runner import main_memory

    main_memory(setup, step, steps=6, warmup=1)
