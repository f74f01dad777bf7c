"""Programs that hold memory for a reason that one line can change: each sick, and done right."""

from tests.support.caching_allocator import MIB, Device

LAYERS = 12
WEIGHT, ADAPTER = 32 * MIB, 2 * MIB
MADE = ("nn/modules/linear.py", "__init__")
MOVED = ("nn/modules/module.py", "_apply")
CALLED = ("nn/modules/module.py", "_call_impl")
READ = ("serialization.py", "load_tensor")
UPDATE = (("optim/adam.py", "_multi_tensor_adam"), ("optim/optimizer.py", "wrapper"))


def assembled(*, sick: bool) -> Device:
    """Assemble 12 layers on a side stream, all before the first is passed, or two at a time."""
    device = Device()
    device.new(WEIGHT, "pieces.py")
    for _ in range(6):
        waiting: list[int] = []
        for _ in range(LAYERS):
            waiting.append(device.new(WEIGHT, "assemble.py"))
            device.release(waiting[-1])
            device.drop(device.new(MIB, "layer.py"))
            if not sick and len(waiting) == 2:
                device.drop(waiting.pop(0))
        device.drop(*waiting)
    return device


def resumed(*, sick: bool) -> Device:
    """Read the weights of a model and its average onto the GPU, or to the host; copy them."""
    device = Device()
    for _ in range(2 * LAYERS):
        device.new(WEIGHT, "build.py", MADE)
    for _ in range(2 * LAYERS if sick else 0):
        device.new(WEIGHT, "resume.py", READ)
    train(device)
    return device


def adapted(*, sick: bool) -> Device:
    """Train adapters beside weights that are frozen or not; clear the optimizer's gradients."""
    device = Device()
    for _ in range(LAYERS):
        device.new(WEIGHT, "base.py", MADE)
        device.new(ADAPTER, "adapter.py")
    for step in range(6):
        activations = [device.new(4 * MIB, "layer.py", CALLED) for _ in range(LAYERS)]
        if sick and not step:
            for _ in range(LAYERS):
                device.new(WEIGHT, "")
        gradients = [device.new(ADAPTER, "") for _ in range(LAYERS)]
        device.drop(*activations)
        if not step:
            for _ in range(2 * LAYERS):
                device.new(ADAPTER, "train.py", *UPDATE)
        device.drop(*gradients)
    return device


def updated(*, sick: bool) -> Device:
    """Update all weights by lists of temporaries, or in one kernel."""
    device = Device()
    for _ in range(3 * LAYERS):
        device.new(WEIGHT, "train.py", MADE)  # and two states
    for _ in range(6):
        device.drop(*[device.new(MIB, "layer.py", CALLED) for _ in range(LAYERS)])
        gradients = [device.new(WEIGHT, "") for _ in range(LAYERS)]
        if sick:
            device.drop(*[device.new(WEIGHT, "train.py", *UPDATE) for _ in range(LAYERS)])
        device.drop(*gradients)
    return device


def fed(*, sick: bool) -> Device:
    """Upload two batches a step and use the oldest, without bound or while three wait."""
    device = Device()
    device.new(8 * MIB, "build.py", MADE)
    waiting: list[int] = []
    for _ in range(16):
        for _ in range(2):
            if sick or len(waiting) < 3:
                device.drop(device.new(4 * MIB, "upload.py"))
                waiting.append(device.new(16 * MIB, "feed.py"))
        device.drop(*[device.new(12 * MIB, "layer.py", CALLED) for _ in range(4)])
        device.drop(waiting.pop(0))
    return device


def inferred(*, sick: bool) -> Device:
    """Pass 24 layers batch by batch, and keep what each leaves until the output is read, or not."""
    device = Device()
    for _ in range(2 * LAYERS):
        device.new(WEIGHT, "build.py", MADE)
    for _ in range(6):
        kept: list[int] = []
        for _ in range(2 * LAYERS):
            layer = [device.new(size * MIB, "layer.py", CALLED) for size in (12, 24, 30)]
            if sick:
                kept += layer
            else:
                device.drop(*layer)
        output = device.new(MIB, "head.py")
        device.drop(*kept)
        device.drop(output)
    return device


def remembered(*, sick: bool) -> Device:
    """Copy weights and states every third step, and keep the last two copies there or elsewhere."""
    device = Device()
    for _ in range(3 * LAYERS):
        device.new(WEIGHT, "train.py", MADE)
    saved: list[list[int]] = []
    for step in range(12):
        device.drop(*[device.new(MIB, "layer.py", CALLED) for _ in range(LAYERS)])
        device.drop(*[device.new(WEIGHT, "") for _ in range(LAYERS)])
        if sick and step % 3 == 0:
            saved.append([device.new(WEIGHT, "copy.py") for _ in range(3 * LAYERS)])
            device.drop(*saved.pop(0) if len(saved) > 2 else ())
    return device


def train(device: Device) -> None:
    """Run 8 steps that leave nothing."""
    for _ in range(8):
        device.drop(*[device.new(4 * MIB, "layer.py", CALLED) for _ in range(LAYERS)])
