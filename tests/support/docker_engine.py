"""A Docker engine that answers on a socket, as far as the harness asks through docker-py."""

import json
import socketserver
import threading
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit


class DockerEngine:
    """Serves ``events`` on a Unix socket; ``asked`` holds the query of each call for events."""

    def __init__(self, path: Path, events: list[dict[str, Any]], *, hangs: bool = False) -> None:
        self.address = f"unix://{path}"
        self.asked: list[dict[str, str]] = []
        self._release = threading.Event()
        engine = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                url = urlsplit(self.path)
                if url.path.endswith("/version"):
                    self._answer(json.dumps({"ApiVersion": "1.41"}))
                    return
                if hangs:
                    engine._release.wait(30)
                engine.asked.append({key: value for key, (value,) in parse_qs(url.query).items()})
                self._answer(*(json.dumps(event) + "\n" for event in events))

            def _answer(self, *parts: str) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for part in (*parts, ""):
                    self.wfile.write(f"{len(part):x}\r\n{part}\r\n".encode())

            def address_string(self) -> str:
                return "unix"

            def log_message(self, *_: object) -> None:
                pass

        self._server = socketserver.ThreadingUnixStreamServer(str(path), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._release.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
