"""The settings of polars' allocator."""

import os
import subprocess
import sys

import pytest

_SHOWN = (
    "from harness.ground import allocator; allocator.keep_freed(); import polars, os;"
    " print(os.environ['_RJEM_MALLOC_CONF'])"
)


@pytest.mark.parametrize(
    ("own", "last"), [(None, "muzzy_decay_ms:10000"), ("lg_prof:1", "lg_prof:1")]
)
def test_polars_gets_them_behind_its_own_unless_the_user_has_set_some(
    own: str | None, last: str
) -> None:
    env = {key: value for key, value in os.environ.items() if key != "_RJEM_MALLOC_CONF"}
    env |= {"_RJEM_MALLOC_CONF": own} if own else {}
    told = subprocess.run(
        [sys.executable, "-c", _SHOWN], env=env, check=True, capture_output=True, text=True
    )
    assert told.stdout.strip().endswith("," + last)
