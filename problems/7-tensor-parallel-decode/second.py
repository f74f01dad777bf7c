"""Rank 1's process; ``ranks.Second`` starts it with the ring's descriptor and the cell's params."""

import json
import os
import sys
import traceback

import torch
from rank import Rank
from ranks import messages


def main() -> None:
    """Do what rank 0 says until it says that this was all; the first message names the device."""
    told = messages(int(sys.argv[1]))
    given = json.loads(sys.argv[2])
    with torch.inference_mode():
        rank: Rank | None = None
        for action, *arguments in told:
            if rank is None:
                rank = Rank(1, device=arguments[0], **given)
            else:
                rank.do(action, *arguments)
        if rank is not None:
            rank.close()


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # the communicator's threads wait for rank 0, which waits for this process
