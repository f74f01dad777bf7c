"""The server of the site: this machine alone reaches it, and it serves the folder."""

import threading
import urllib.request
from pathlib import Path

import pytest

from harness.ground.errors import UsageError
from harness.site import serve


def test_it_serves_a_folder_on_the_loopback_interface(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>hello</p>")
    with serve.server(tmp_path, 0) as server:
        assert server.server_address[0] == "127.0.0.1"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/") as answer:
                assert answer.read() == b"<p>hello</p>"
                assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        finally:
            server.shutdown()
            thread.join()


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with serve.server(tmp_path, 0) as first, pytest.raises(UsageError) as told:
        serve.server(tmp_path, first.server_port)
    assert str(told.value).startswith(f"port {first.server_port}: cannot serve")
    assert "--port 0" in str(told.value)
