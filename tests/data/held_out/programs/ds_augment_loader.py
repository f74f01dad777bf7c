# image training from a DataLoader whose augmentation is too slow for its workers, or is light
import _h, torch, numpy as np, torch.nn as nn
from torch.utils.data import Dataset, DataLoader

a = _h.args()


class Pics(Dataset):
    def __init__(s, heavy):
        s.h = heavy
        s.base = np.random.randint(0, 255, (3, 192, 192), dtype=np.uint8)

    def __len__(s):
        return 100000

    def __getitem__(s, i):
        x = s.base
        if s.h:
            f = x.astype(np.float32)
            for k in range(2):
                f = np.sort(np.roll(f, k, 1), axis=2) * 0.9 + f * 0.1
            x = f.astype(np.uint8)
        return torch.from_numpy(x), i % 100


if __name__ == "__main__":
    torch.set_num_threads(2)
    _h.turn()
    dl = iter(
        DataLoader(
            Pics(not a.healthy),
            batch_size=48,
            num_workers=2 if not a.healthy else 6,
            pin_memory=True,
            prefetch_factor=2 if not a.healthy else 6,
        )
    )
    torch.backends.cudnn.benchmark = True
    cl = torch.channels_last
    net = (
        nn.Sequential(
            nn.Conv2d(3, 64, 3, 1, 1),
            nn.ReLU(),
            nn.Conv2d(64, 128, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(128, 256, 3, 2, 1),
            nn.ReLU(),
            nn.Conv2d(256, 256, 3, 1, 1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(256, 100),
        )
        .cuda()
        .to(torch.bfloat16)
        .to(memory_format=cl)
    )
    opt = torch.optim.SGD(net.parameters(), 1e-3)

    def step(i):
        x, y = next(dl)
        x = x.cuda(non_blocking=True).to(torch.bfloat16).to(memory_format=cl)
        y = y.cuda(non_blocking=True)
        for _ in range(5 if a.healthy else 2):
            opt.zero_grad()
            nn.functional.cross_entropy(net(x).float(), y).backward()
            opt.step()

    _h.drive(step, 14, a, nvtx=True)
    del dl
