"""Servers on this machine, names for them, and an authority that they trust."""

from __future__ import annotations

import ipaddress
import socket

import pytest
from byte_servers import serve  # noqa: F401  # pytest finds it here
from certificates import Authority

from snodo_actors.oauth.fetch import Fetcher
from snodo_actors.words.tls_options import TlsOptions

MCP = "https://mcp.test/mcp"
"""An MCP server that is far away."""


class Names:
    """Answers look-ups as a test wants: a name has a list of them, the last stays."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self._answers: dict[str, list[tuple[str, ...]]] = {}

    def answer(self, host: str, *answers: tuple[str, ...]) -> None:
        self._answers[host] = list(answers)

    async def resolve(self, host: str, port: int):
        self.asked.append((host, port))
        answers = self._answers.get(host)
        if answers is None:
            raise OSError(socket.EAI_NONAME, f"{host}: no such name")
        addresses = answers.pop(0) if len(answers) > 1 else answers[0]
        return [
            (socket.AF_INET6, (address, port, 0, 0))
            if ipaddress.ip_address(address).version == 6
            else (socket.AF_INET, (address, port))
            for address in addresses
        ]


@pytest.fixture
def names() -> Names:
    return Names()


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """Who made the certificates of the servers."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def fetcher(names, authority):
    """Make a fetcher that knows the tests' names and authority."""

    def make(server_url: str = MCP, **options) -> Fetcher:
        options = {"ssl": TlsOptions(cafile=authority.file), "resolve": names.resolve, **options}
        return Fetcher(server_url, **options)

    return make


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
