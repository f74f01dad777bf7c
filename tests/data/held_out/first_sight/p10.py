"""Per-line statistics of raw sensor frames that live in host memory."""
import torch

LINES, PIXELS, CHUNKS = 4096, 65536, 8


def setup():
    host = [torch.randint(0, 256, (LINES, PIXELS), dtype=torch.uint8).pin_memory() for _ in range(3)]
    slots = [torch.empty(LINES, PIXELS, dtype=torch.uint8, device="cuda") for _ in range(2)]
    return {
        "host": host,
        "slots": slots,
        "filled": [torch.cuda.Event() for _ in range(2)],
        "free": [torch.cuda.Event() for _ in range(2)],
        "copy": torch.cuda.Stream(),
        "total": torch.zeros(LINES, device="cuda"),
        "top": torch.zeros(LINES, dtype=torch.uint8, device="cuda"),
        "n": 0,
    }


def step(s):
    main_stream = torch.cuda.current_stream()
    for _ in range(CHUNKS):
        i = s["n"]
        k = i % 2
        with torch.cuda.stream(s["copy"]):
            if i >= 2:
                s["copy"].wait_event(s["free"][k])
            s["slots"][k].copy_(s["host"][i % 3], non_blocking=True)
            s["filled"][k].record(s["copy"])
        main_stream.wait_event(s["filled"][k])
        x = s["slots"][k]
        s["total"] += x.sum(dim=1, dtype=torch.float32)
        torch.maximum(s["top"], x.amax(dim=1), out=s["top"])
        s["free"][k].record(main_stream)
        s["n"] = i + 1


if __name__ == "__main__":
    from runner import main

    main(setup, step, steps=10, warmup=2)
