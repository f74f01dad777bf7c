"""Runs the recipes of docs/record.md: ``python -m tests.support.recipes PYTHON [TITLE…]``.

Each runs under PYTHON on a CPU with a small program of its framework, as its test does.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "record.md"
TRACE = "trace.json.gz"
STEPS = 3

_MODEL = """
import torch
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))
"""
PROGRAMS = {
    "Plain PyTorch": _MODEL
    + """
batches = [torch.randn(8, 32) for _ in range(14)]
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
asked = TrainingArguments("out", use_cpu=True, max_steps=14, per_device_train_batch_size=4,
                          report_to=[], save_strategy="no", disable_tqdm=True)
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
trainer = lightning.Trainer(max_steps=14, accelerator="cpu", logger=False,
                            enable_checkpointing=False, enable_progress_bar=False)
""",
    "diffusers": """
from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel
unet = UNet2DModel(sample_size=8, block_out_channels=(32, 32),
                   down_block_types=("DownBlock2D",) * 2, up_block_types=("UpBlock2D",) * 2)
pipe = DDPMPipeline(unet, DDPMScheduler())
arguments = {"num_inference_steps": 14}
""",
}
"""What a recipe is pasted around, by its heading."""


def blocks(title: str) -> list[str]:
    """Return the blocks of Python below a heading; "" has those above the first one."""
    sections = re.split(r"^## (.*)$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    texts = dict(zip(sections[1::2], sections[2::2], strict=True)) | {"": sections[0]}
    return re.findall(r"^```python\n(.*?)^```", texts[title], re.MULTILINE | re.DOTALL)


def run(python: Path, title: str, folder: Path) -> int:
    """Run a recipe in a folder; return how many steps the harness finds in what it leaves."""
    script = folder / "recipe.py"
    parts = (PROGRAMS[title], *blocks(""), blocks(title)[0])
    script.write_text("\n".join(parts), encoding="utf-8")
    done = subprocess.run(
        [python, script], cwd=folder, check=False, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    argv = [sys.executable, "-m", "harness", "inspect", str(folder / TRACE), "--json"]
    said = subprocess.run(argv, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return len(set(re.findall(r"ProfilerStep#\d+", json.dumps(json.loads(said)))))


def main() -> None:
    """Run the recipes named, or all, and say which ran."""
    python = Path(sys.argv[1])
    for title in sys.argv[2:] or PROGRAMS:
        with tempfile.TemporaryDirectory() as folder:
            print(f"{title}: {run(python, title, Path(folder))} steps")


if __name__ == "__main__":
    main()
