"""Context parallelism: each rank has some tokens of the sequence and all of the weights.

Both ranks of a ring have as much causal work: of 2 ranks chunks, rank r has r and the one as far
from the end (zigzag).
"""

from collections.abc import Callable

import torch
import torch.nn.functional as F  # noqa: N812 - torch's own convention
from law import Overlap, attention_share, forward_bytes
from torch import Tensor
from torch.distributed.device_mesh import DeviceMesh
from torch.nn.attention import SDPBackend, sdpa_kernel
from way import Comm, UnfitError, Way, by_tokens, gathered
from work import Work
from world import World


def ring(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return ring attention: keys and values go round while their attention is computed."""
    comm = Comm(world, mesh)
    own = zigzag(world.rank, world.size, work.tokens).to(world.device)
    way = _made("ring", work, world, own, lambda q, k, v: ring_attention(q, k, v, comm))
    way.gathered = _from_zigzag(work, world)
    beside = attention_share(work.sizes(world.size)) * (world.size - 1) / world.size
    way.overlap = Overlap(beside=beside)
    return way


def ulysses(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return DeepSpeed Ulysses: all tokens of some heads during attention."""
    if work.shape.kv_heads % world.size:
        raise UnfitError(f"{work.shape.kv_heads} key heads over {world.size} ranks")
    comm = Comm(world, mesh)
    own = torch.arange(work.tokens, device=world.device).chunk(world.size)[world.rank]
    way = _made("ulysses", work, world, own, lambda q, k, v: by_heads(q, k, v, comm))
    way.gathered = by_tokens(world)
    return way


def ring_of_torch(work: Work, world: World, mesh: DeviceMesh) -> Way:
    """Return torch's ``context_parallel``, whose own tokens are those of a zigzag, too."""
    if world.device != "cuda":
        raise UnfitError("torch's context_parallel needs GPUs")
    from torch.distributed.tensor.experimental import context_parallel

    stack = work.stack()
    group = work.shape.heads // work.shape.kv_heads

    def attend(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        k, v = (each.repeat_interleave(group, 1) for each in (k, v))
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    for block in stack.blocks:
        block.attention.attend = attend
    x, rotation = work.input(), stack.blocks[0].attention.rotation

    def step() -> Tensor:
        buffers, dimensions = [x, rotation], [1, 0]
        with (
            sdpa_kernel(SDPBackend.FLASH_ATTENTION),
            context_parallel(mesh, buffers=buffers, buffer_seq_dims=dimensions),
        ):
            return stack(x)

    law = forward_bytes("ring-torch", work.sizes(world.size))
    return Way(step, _from_zigzag(work, world), law)


def _made(name: str, work: Work, world: World, own: Tensor, attend: Callable[..., Tensor]) -> Way:
    stack = work.stack()
    work.place(stack, own)
    for block in stack.blocks:
        block.attention.attend = attend
    x = work.input()[:, own].contiguous()
    law = forward_bytes(name, work.sizes(world.size))
    return Way(lambda: stack(x), by_tokens(world), law)


def zigzag(rank: int, ranks: int, tokens: int) -> Tensor:
    """Return the positions of a rank's tokens, in order."""
    if tokens % (2 * ranks):
        raise UnfitError(f"{tokens} tokens in {2 * ranks} chunks")
    chunks = torch.arange(tokens).chunk(2 * ranks)
    return torch.cat([chunks[rank], chunks[2 * ranks - 1 - rank]])


def _from_zigzag(work: Work, world: World) -> Callable[[Tensor], Tensor]:
    def whole(x: Tensor) -> Tensor:
        places = [zigzag(rank, world.size, work.tokens) for rank in range(world.size)]
        order = torch.cat(places).argsort().to(x.device)
        return torch.cat(gathered(x, world), 1)[:, order]

    return whole


def ring_attention(q: Tensor, k: Tensor, v: Tensor, comm: Comm) -> Tensor:
    """Return causal attention of this rank's queries to every rank's keys and values.

    Keys and values of an earlier rank: its first half is before all queries here, its second half
    after them. Of a later rank, both halves are before the second half of the queries, and after
    the first.
    """
    rank, ranks = comm.world.rank, comm.world.size
    half = q.shape[2] // 2
    held = torch.stack([k, v])
    total: Tensor | None = None
    for step in range(ranks):
        coming = comm.begin_passing(held) if step < ranks - 1 else None
        source = (rank - step) % ranks
        if step == 0:
            total, weight = attention(q, held[0], held[1], is_causal=True)
            total = total.float()
        elif source < rank:
            result = attention(q, held[0, :, :, :half], held[1, :, :, :half])
            total, weight = merged(total, weight, *result)
        else:
            result = attention(q[:, :, half:], held[0], held[1])
            late = merged(total[:, :, half:], weight[:, :, half:], *result)
            total = torch.cat([total[:, :, :half], late[0]], 2)
            weight = torch.cat([weight[:, :, :half], late[1]], 2)
        if coming:
            held = coming()
    assert total is not None  # noqa: S101 - step 0 sets it
    return total.to(q.dtype)


def attention(q: Tensor, k: Tensor, v: Tensor, *, is_causal: bool = False) -> tuple[Tensor, Tensor]:
    """Return attention and the logarithm of its sums, [batch, heads, tokens]."""
    if q.is_cuda:
        operator = torch.ops.aten._scaled_dot_product_flash_attention
        result, weight = operator(q, k, v, 0.0, is_causal, False)[:2]
        return result, weight[:, :, : q.shape[2]]
    group = q.shape[1] // k.shape[1]
    k, v = (each.repeat_interleave(group, 1) for each in (k, v))
    operator = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    result, weight = operator(q, k, v, 0.0, is_causal)
    return result, weight


def merged(
    first: Tensor, first_weight: Tensor, second: Tensor, second_weight: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the attention to two sets of keys from that to each."""
    weight = torch.logaddexp(first_weight, second_weight)
    shares = [(each - weight).exp()[..., None] for each in (first_weight, second_weight)]
    return first * shares[0] + second.float() * shares[1], weight


def by_heads(q: Tensor, k: Tensor, v: Tensor, comm: Comm) -> Tensor:
    """Return causal attention with all tokens of this rank's heads, exchanged before and after."""
    from model import causal

    ranks, own = comm.world.size, q.shape[2]
    counts = [each.shape[1] // ranks for each in (q, k, v)]
    parts = [each.unflatten(1, (ranks, -1)).movedim(1, 0) for each in (q, k, v)]
    came = comm.all_to_all(torch.cat(parts, 2))  # [ranks, batch, heads, own tokens, head]
    whole = came.permute(1, 2, 0, 3, 4).flatten(2, 3)
    result = causal(*whole.split(counts, 1))
    back = result.unflatten(2, (ranks, own)).movedim(2, 0)
    return comm.all_to_all(back).movedim(0, 1).flatten(1, 2)
