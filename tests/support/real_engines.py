"""Docker and podman as .ci/containers prepares them, for the tests that start real containers."""

import os

import pytest

from harness.engines.docker_cli import Client, Name
from harness.ground.errors import ToolError


def client_of(name: Name, *variables: str) -> Client:
    """Return a client of an engine that answers and has the base image WORKLOGS_TEST_BASE.

    Skips the test where it has not, or where an environment variable is not set.
    """
    for variable in ("WORKLOGS_TEST_BASE", *variables):
        if variable not in os.environ:
            pytest.skip(f"{variable} is not set: see .ci/containers")
    try:
        client = Client(name)
        client.version()
    except ToolError as error:
        pytest.skip(str(error))
    if client.image_digest(os.environ["WORKLOGS_TEST_BASE"]) is None:
        pytest.skip(f"{name} has no image {os.environ['WORKLOGS_TEST_BASE']}")
    return client
