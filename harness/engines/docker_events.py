"""Why a container of Docker was killed: read from the engine's events, through docker-py.

An ended container is removed with its state, and its log says nothing of a kill. The engine keeps
its last events; docker-py returns them with their attributes as data.
"""

import contextlib
import queue
import threading
import time

OUT_OF_MEMORY = "oom"

_DEADLINE_S = 10.0


def kill_of(address: str, container: str, since: float) -> str:
    """Return why a container was killed after ``since``: "oom", "signal 9", or empty if it was not.

    ``address`` is the engine's, as ``docker context inspect`` prints it; ``since`` is in seconds
    since the epoch. Empty also if the engine does not answer within ten seconds.
    """
    answers: queue.SimpleQueue[str] = queue.SimpleQueue()
    # In a thread, as docker-py waits for events without a deadline of its own.
    arguments = (answers, address, container, since)
    threading.Thread(target=_ask, args=arguments, daemon=True).start()
    with contextlib.suppress(queue.Empty):
        return answers.get(timeout=_DEADLINE_S)
    return ""


def _ask(answers: "queue.SimpleQueue[str]", address: str, container: str, since: float) -> None:
    """Put the container's first kill into ``answers``."""
    from docker.errors import DockerException

    import docker

    kills = {"container": container, "event": [OUT_OF_MEMORY, "kill"]}
    reason = ""
    # Suppressed are a refusal, no connection, and an answer that is no event.
    with contextlib.suppress(DockerException, OSError, ValueError, LookupError):
        client = docker.DockerClient(address)
        with contextlib.closing(client):
            # In whole seconds; without an end the engine would send events for ever.
            end = int(time.time()) + 1
            for event in client.events(since=int(since), until=end, filters=kills, decode=True):
                if not reason and event["timeNano"] >= since * 1e9:
                    signal = event["Actor"]["Attributes"].get("signal", "unknown")
                    reason = OUT_OF_MEMORY if event["Action"] == "oom" else f"signal {signal}"
    answers.put(reason)
