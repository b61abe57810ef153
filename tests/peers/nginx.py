"""An nginx between a client and its server, which may be reloaded and started again at its port."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

from case_servers import PATIENCE

PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")

CONFIGURATION = """
daemon off;
{user}
worker_processes 1;
pid {folder}/pid;
error_log {folder}/errors notice;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream peer {{ server 127.0.0.1:{upstream}; {upstream_more} }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://peer;
            proxy_set_header Host $http_host;  # some servers look whether it is theirs
            {location_more}
        }}
    }}
}}
"""
KEPT = "keepalive 16;"
KEEPS = 'proxy_http_version 1.1; proxy_set_header Connection "";'
"""What keeps the connections to the server, which nginx closes unless it is told otherwise."""
UNBUFFERED = f"{KEEPS} proxy_buffering off;"


class Nginx:
    """Passes on what comes to its port to the port *upstream*."""

    def __init__(
        self, folder: Path, upstream: int, *, upstream_more: str = KEPT, location_more: str = KEEPS
    ) -> None:
        assert PROGRAM is not None
        folder.mkdir()
        with socket.create_server(("127.0.0.1", 0)) as found:
            self.port: int = found.getsockname()[1]
        self._folder = folder
        configuration = CONFIGURATION.format(
            folder=folder,
            user="user root;" if os.geteuid() == 0 else "",
            port=self.port,
            upstream=upstream,
            upstream_more=upstream_more,
            location_more=location_more,
        )
        (folder / "conf").write_text(configuration, encoding="utf-8")
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def start(self) -> None:
        """Start it; until it listens."""
        program, folder = str(PROGRAM), str(self._folder)
        self._process = subprocess.Popen(
            [program, "-p", folder, "-e", f"{folder}/errors", "-c", f"{folder}/conf"],
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + PATIENCE
        while not self._listens():
            assert self._process.poll() is None, self.errors()
            assert time.monotonic() < deadline, self.errors()
            time.sleep(0.01)

    def _listens(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
            return True
        return False

    def errors(self) -> str:
        """What it wrote down."""
        return (self._folder / "errors").read_text(encoding="utf-8", errors="replace")

    def reload(self) -> None:
        """Put new workers in place of the old ones, which end when nothing is open any more."""
        before = self.errors().count("start worker process ")
        self._process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + PATIENCE
        while self.errors().count("start worker process ") == before:
            assert time.monotonic() < deadline, self.errors()
            time.sleep(0.01)

    def stop(self) -> None:
        """End it, and all that is open through it; harmless when repeated."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(PATIENCE)
        finally:
            with contextlib.suppress(ProcessLookupError):  # workers, too
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def restart(self) -> None:
        """End it, and start it again at the same port."""
        self.stop()
        self.start()
