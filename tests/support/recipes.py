"""Runs the recipes of docs/record.md: ``python -m tests.support.recipes PYTHON OUT [TITLE…]``.

Each runs under PYTHON with a small program of its framework, on a GPU if there is one, and leaves
its captures in a folder of OUT. The harness reads them afterwards, here or on another machine:
``python -m tests.support.recipes OUT``.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT

CUDA = "C++ and CUDA"
JAX = "JAX"
PAGE = ROOT / "docs" / "record.md"
TRACE = "trace.json.gz"
OF_CUDA = ("step.sqlite", "kernel.ncu-rep")
STEPS = 3

_MODEL = """
import torch
torch.set_num_threads(1)
device = "cuda" if torch.cuda.is_available() else "cpu"
model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
model.to(device)
"""
PROGRAMS = {
    "Plain PyTorch": _MODEL
    + """
batches = [torch.randn(8, 32, device=device) for _ in range(14)]
optimizer = torch.optim.AdamW(model.parameters())
def train_step(batch):
    model(batch).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
""",
    "Hugging Face Trainer": _MODEL
    + """
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
small = BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
                   intermediate_size=37)
rows = [{"input_ids": [1, 2, 3], "labels": 1} for _ in range(64)]
asked = TrainingArguments("out", use_cpu=device == "cpu", max_steps=14, report_to=[],
                          per_device_train_batch_size=4, save_strategy="no", disable_tqdm=True)
trainer = Trainer(BertForSequenceClassification(small), asked, train_dataset=rows)
""",
    "Lightning": _MODEL
    + """
import lightning
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.inner = model
    def training_step(self, batch, index):
        return self.inner(batch[0]).square().mean()
    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())
data = torch.utils.data.TensorDataset(torch.randn(64, 32))
model, loader = Module(), torch.utils.data.DataLoader(data, batch_size=4)
trainer = lightning.Trainer(max_steps=14, accelerator="auto", devices=1, logger=False,
                            enable_checkpointing=False, enable_progress_bar=False)
""",
    "diffusers": """
import torch
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
unet = UNet2DModel(sample_size=8, block_out_channels=(32, 32),
                   down_block_types=("DownBlock2D",) * 2, up_block_types=("UpBlock2D",) * 2)
pipe = DDPMPipeline(unet, DDPMScheduler()).to("cuda" if torch.cuda.is_available() else "cpu")
arguments = {"num_inference_steps": 14}
""",
}
"""What a recipe of Python is pasted around, by its heading."""

_PROGRAM = r"""
#include <nvtx3/nvToolsExt.h>
__global__ void scale(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }
int main() {
  float* x;
  if (cudaMalloc(&x, 1 << 26)) return 1;
  for (int step = 0; step < 3; ++step) {
    nvtxRangePush("step");
    for (int launch = 0; launch < 4; ++launch) scale<<<1 << 16, 256>>>(x);
    if (cudaDeviceSynchronize()) return 2;
    nvtxRangePop();
  }
}
"""
_TRAIN = """
import jax
import jax.numpy as jnp
import nvtx
loss = lambda weight, batch: jnp.square(jnp.tanh(batch @ weight)).mean()
step = jax.jit(lambda weight, batch: weight - jax.grad(loss)(weight, batch))
weight, batch = jnp.ones((1024, 1024)), jnp.ones((512, 1024))
for number in range(8):
    with nvtx.annotate("step"):
        weight = step(weight, batch)
        weight.block_until_ready()
"""
UNDER_NSYS = {
    CUDA: ("program.cu", _PROGRAM, "nvcc -o program program.cu"),
    JAX: ("train.py", _TRAIN, ""),
}
"""Programs of recipes of shell, by heading: file, source and what builds it."""


def blocks(title: str) -> list[str]:
    """Return the blocks of Python below a heading; "" has those above the first one."""
    sections = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = dict(zip(sections[1::2], sections[2::2], strict=True)) | {"": sections[0]}
    return re.findall(r"^```python\n(.*?)^```", texts[title], re.MULTILINE | re.DOTALL)


def commands(title: str) -> str:
    """Return the shell of a recipe, for the program here."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")[2]
    shell = re.findall(r"^```sh\n(.*?)^```", section.partition("\n## ")[0], re.M | re.S)
    return "".join(shell).replace("KERNEL", "scale")


def record(python: Path, title: str, folder: Path) -> None:
    """Run a recipe in a folder, where it leaves its captures."""
    if title in UNDER_NSYS:
        name, source, build = UNDER_NSYS[title]
        (folder / name).write_text(source, encoding="utf-8")
        script = folder / "recipe.sh"
        begun = f"set -e\nexport PATH={python.parent}:$PATH\n{build}\n"
        export = "nsys export --type=sqlite --output=step.sqlite step.nsys-rep\n"
        script.write_text(f"{begun}{commands(title)}{export}", encoding="utf-8")
        argv: list[str | Path] = ["bash", script]
    else:
        script = folder / "recipe.py"
        parts = (PROGRAMS[title], *blocks(""), blocks(title)[0])
        script.write_text("\n".join(parts), encoding="utf-8")
        argv = [python, script]
    done = subprocess.run(
        argv, cwd=folder, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr


def run(python: Path, title: str, folder: Path) -> int:
    """Run a recipe of PyTorch in a folder; return how many steps its trace has."""
    record(python, title, folder)
    return len(set(re.findall(r"ProfilerStep#\d+", json.dumps(inspected(folder / TRACE)))))


def inspected(capture: Path) -> dict[str, Any]:
    """Return what ``harness inspect --json`` says of a capture."""
    argv = [sys.executable, "-m", "harness", "inspect", str(capture), "--json"]
    said = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    read: dict[str, Any] = json.loads(said)
    return read


def main() -> None:
    """Run the recipes named, or all, or read what they left."""
    first, *others = sys.argv[1:]
    if not others:
        for capture in sorted(Path(first).glob("*/*")):
            if capture.name in (TRACE, *OF_CUDA):
                print(f"{capture.parent.name}: {inspected(capture)['recording']['text']}")
        return
    for title in others[1:] or (*PROGRAMS, *UNDER_NSYS):
        folder = Path(others[0], re.sub(r"[^a-z]+", "-", title.lower()))
        folder.mkdir(parents=True)
        try:
            record(Path(first), title, folder)
        except AssertionError as error:
            print(f"{title}: {str(error).strip().splitlines()[-1]}")
        else:
            print(f"{title}: recorded")


if __name__ == "__main__":
    main()
