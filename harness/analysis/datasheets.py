"""What a GPU can do at most, as its maker prints it: the rates a measured one is a share of.

Matrix rates are dense and accumulate in fp32. Most datasheets print matrix rates "with sparsity",
that is with half of the operands known to be zero: those are halved here. GeForce cards accumulate
in fp32 at half the rate that they do in fp16; theirs are the fp32 rows of the white papers. All
rates assume the boost clock, which a card under load may not hold, and memory's data rate without
refresh or error correction: nothing reaches all of it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Peaks:
    """The peaks of one GPU: memory in GB/s, arithmetic in TFLOP/s, None where no unit does it.

    ``name`` is the GPU's as NVML reports it. ``fp32`` is that of the vector units, the others are
    of the matrix units.
    """

    name: str
    dram_gb_s: float
    bf16: float | None
    fp16: float | None
    fp8: float | None
    tf32: float | None
    fp32: float | None
    source: str

    def rate(self, key: str) -> float | None:
        """Return the peak of "dram" in GB/s, or of "bf16" and its like in TFLOP/s."""
        rates = {
            "dram": self.dram_gb_s,
            "bf16": self.bf16,
            "fp16": self.fp16,
            "fp8": self.fp8,
            "tf32": self.tf32,
            "fp32": self.fp32,
        }
        return rates[key]


def of(name: str) -> Peaks | None:
    """Return the peaks of the GPU of that NVML name, None where they are not known here."""
    return _BY_NAME.get(name)


_HOPPER = "NVIDIA H100 Tensor Core GPU Architecture white paper, table of peak rates"
_A100 = "NVIDIA A100 Tensor Core GPU datasheet, table of specifications"
_ALL = (
    # The H200 is the H100's chip with other memory; the white paper prints a digit more.
    Peaks(
        name="NVIDIA H200",
        dram_gb_s=4800,
        bf16=989.4,
        fp16=989.4,
        fp8=1978.9,
        tf32=494.7,
        fp32=66.9,
        source=f"NVIDIA H200 Tensor Core GPU datasheet, specifications, H200 SXM; {_HOPPER}",
    ),
    Peaks(
        name="NVIDIA H100 80GB HBM3",
        dram_gb_s=3350,
        bf16=989.4,
        fp16=989.4,
        fp8=1978.9,
        tf32=494.7,
        fp32=66.9,
        source=f"NVIDIA H100 Tensor Core GPU datasheet, specifications, H100 SXM; {_HOPPER}",
    ),
    Peaks(
        name="NVIDIA A100-SXM4-80GB",
        dram_gb_s=2039,
        bf16=312,
        fp16=312,
        fp8=None,
        tf32=156,
        fp32=19.5,
        source=f"{_A100}, A100 80GB SXM",
    ),
    Peaks(
        name="NVIDIA A100-SXM4-40GB",
        dram_gb_s=1555,
        bf16=312,
        fp16=312,
        fp8=None,
        tf32=156,
        fp32=19.5,
        source=f"{_A100}, A100 40GB SXM",
    ),
    Peaks(
        name="NVIDIA A100 80GB PCIe",
        dram_gb_s=1935,
        bf16=312,
        fp16=312,
        fp8=None,
        tf32=156,
        fp32=19.5,
        source=f"{_A100}, A100 80GB PCIe",
    ),
    # The datasheet's dense 362.05 is not half of its sparse 733, nor what 142 SMs at 2520 MHz do.
    Peaks(
        name="NVIDIA L40S",
        dram_gb_s=864,
        bf16=366.5,
        fp16=366.5,
        fp8=733,
        tf32=183,
        fp32=91.6,
        source="NVIDIA L40S datasheet, table of specifications",
    ),
    Peaks(
        name="NVIDIA L4",
        dram_gb_s=300,
        bf16=121,
        fp16=121,
        fp8=242.5,
        tf32=60,
        fp32=30.3,
        source="NVIDIA L4 Tensor Core GPU datasheet, table of specifications",
    ),
    Peaks(
        name="NVIDIA A10",
        dram_gb_s=600,
        bf16=125,
        fp16=125,
        fp8=None,
        tf32=62.5,
        fp32=31.2,
        source="NVIDIA A10 Tensor Core GPU datasheet, table of specifications",
    ),
    Peaks(
        name="NVIDIA GeForce RTX 5090",
        dram_gb_s=1792,
        bf16=209.5,
        fp16=209.5,
        fp8=419,
        tf32=104.8,
        fp32=104.8,
        source="NVIDIA RTX Blackwell GPU Architecture white paper, appendix, GeForce RTX 5090",
    ),
    Peaks(
        name="NVIDIA GeForce RTX 4090",
        dram_gb_s=1008,
        bf16=165.2,
        fp16=165.2,
        fp8=330.3,
        tf32=82.6,
        fp32=82.6,
        source="NVIDIA Ada GPU Architecture white paper, appendix, GeForce RTX 4090",
    ),
    Peaks(
        name="NVIDIA GeForce RTX 3090",
        dram_gb_s=936,
        bf16=71,
        fp16=71,
        fp8=None,
        tf32=35.6,
        fp32=35.6,
        source="NVIDIA Ampere GA102 GPU Architecture white paper, appendix A, GeForce RTX 3090",
    ),
)
_BY_NAME = {peaks.name: peaks for peaks in _ALL}
