"""Pickles that would run code, hang or fill memory, and damaged ones."""

import pickle
from typing import Any


class Runs:
    """An object whose unpickling would do as ``__reduce__`` says."""

    def __init__(self, *code: Any) -> None:
        self.code = code

    def __reduce__(self) -> tuple[Any, ...]:
        return self.code


class Holder:
    """An object with state."""

    state: Any


def running(sentinel: str) -> dict[str, bytes]:
    """Pickles that make ``sentinel`` in one of the ways there are."""
    touch = Runs(open, (sentinel, "w"))
    name = sentinel.encode()
    text = b"X" + len(name).to_bytes(4, "little") + name
    holder = Holder()
    holder.state = touch
    made = {f"REDUCE by protocol {n}": pickle.dumps(touch, n) for n in range(6)}
    made |= {
        "REDUCE within a snapshot": pickle.dumps({"segments": [touch]}),
        "REDUCE as a key": pickle.dumps({(1, touch): 1}, 2),
        "BUILD of an object": pickle.dumps(holder),
        "two pickles": pickle.dumps({}) + pickle.dumps(touch),
        "GLOBAL": b"\x80\x02cbuiltins\nopen\n" + text + b"X\x01\x00\x00\x00w\x86R.",
        "INST": b"(S'" + name + b"'\nS'w'\nibuiltins\nopen\n.",
        "OBJ": b"\x80\x02(cbuiltins\nopen\n" + text + b"X\x01\x00\x00\x00wo.",
        "NEWOBJ": b"\x80\x02cio\nFileIO\n" + text + b"X\x01\x00\x00\x00w\x86\x81.",
        "STACK_GLOBAL": b"\x80\x04\x8c\x02os\x8c\x05mkdir\x93" + text + b"\x85R.",
        "os.system": b"cos\nsystem\n(S'touch " + name + b"'\ntR.",
        "codecs": b"\x80\x02c_codecs\nencode\n" + text + b"X\x06\x00\x00\x00latin1\x86R.",
    }
    return made


# Tuples of tuples that share their parts: 2⁶⁰ of them for whoever hashes the outermost.
SHARED = b")q\x00" + b"".join(b"h%ch%c\x86q%c" % (n, n, n + 1) for n in range(60))

DAMAGED = {
    "EXT1": b"\x80\x02\x82\x01.",
    "PERSID": b"Ptouch\n.",
    "BINPERSID": b"\x80\x02NQ.",
    "NEXT_BUFFER": b"\x80\x05\x97.",
    "BUILD": b"\x80\x04}}b.",
    "a key that takes for ever to hash": b"\x80\x02}" + SHARED + b"Ns.",
    "a key that is no text": b"\x80\x02}K\x01Ns.",
    "a key without a value": b"\x80\x02}(X\x01\x00\x00\x00au.",
    "text of 2⁶³ bytes": b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\x7f.",
    "text of 4 GB": b"\x80\x02X\xff\xff\xff\xffabc.",
    "a number of 2 GB": b"\x80\x02\x8b\xff\xff\xff\x7f.",
    "bad UTF-8": b"\x80\x04X\x02\x00\x00\x00\xff\xfe.",
    "marks without end": b"\x80\x04" + b"(" * 1000,
    "no stop": b"\x80\x04N",
    "an empty stack": b"\x80\x04.",
    "two values": b"\x80\x04NN.",
    "no mark": b"\x80\x04]e.",
    "a tuple of nothing": b"\x80\x04\x86.",
    "an item for no list": b"\x80\x04NNa.",
    "a memo never written": b"\x80\x04h\x07.",
    "nothing": b"",
    "no pickle": b"{}",
}
