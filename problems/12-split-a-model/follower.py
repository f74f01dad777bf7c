"""The process of a rank other than 0; ``team.Team`` starts it and says which one it is."""

import faulthandler
import json
import os
import signal
import sys
import traceback

import study
from team import Follower
from world import World


def main() -> None:
    """Run the study beside the other ranks; ended by a signal, say where it stands."""
    faulthandler.register(signal.SIGTERM, chain=True)
    given = json.loads(sys.stdin.read() or "null")
    if given is None:
        return  # rank 0 has ended before it began
    params = given["params"]
    world = World(given["rank"], params["ranks"], given["device"], given["meeting"])
    study.run(Follower(params), world, given["seed"])
    world.close()


if __name__ == "__main__":
    try:
        main()
    except BaseException:
        traceback.print_exc()
        os._exit(1)  # a communicator's threads would wait for the other ranks
