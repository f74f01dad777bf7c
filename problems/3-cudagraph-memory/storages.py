"""The storages of tensors; without torch, so that tests can pass stand-ins."""

from collections.abc import Iterable, Iterator
from typing import Any


def leaves(tensor: Any) -> Iterator[Any]:
    """Yield the plain tensors that a tensor subclass is made of; a plain tensor yields itself."""
    if not hasattr(tensor, "__tensor_flatten__"):
        yield tensor
        return
    for name in tensor.__tensor_flatten__()[0]:
        yield from leaves(getattr(tensor, name))


def distinct(tensors: Iterable[Any]) -> list[tuple[int, int]]:
    """Return address and bytes of each storage once, however many tensors view it."""
    sizes: dict[int, int] = {}
    for tensor in tensors:
        for leaf in leaves(tensor):
            storage = leaf.untyped_storage()
            if storage.nbytes():
                sizes[storage.data_ptr()] = storage.nbytes()
    return sorted(sizes.items())


def total(tensors: Iterable[Any]) -> int:
    """Return the bytes of all distinct storages."""
    return sum(size for _, size in distinct(tensors))
