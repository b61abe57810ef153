"""Links to servers that send any bytes."""

from __future__ import annotations

import anyio
import pytest
from byte_servers import serve  # noqa: F401  # pytest finds it here
from certificates import Authority

from snodo_actors.ports.http.link import Outgoing
from snodo_actors.ports.http.open import open_link
from snodo_actors.ports.http.origin import Origin, read_origin
from snodo_actors.wire.http1 import End, Head, Item
from snodo_actors.words.http_options import HttpOptions

PATIENCE = 10.0


class Told:
    """What a link told."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self.lost_for: list[OSError | str] = []
        self.on_came = lambda items: None
        self._changed = anyio.Event()

    def came(self, items: list[Item]) -> None:
        self.items += items
        self.on_came(items)
        self._change()

    def lost(self, reason: OSError | str) -> None:
        self.lost_for.append(reason)
        self._change()

    def _change(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()

    async def until(self, condition) -> None:
        with anyio.fail_after(PATIENCE):
            while not condition():
                await self._changed.wait()

    @property
    def is_over(self) -> bool:
        return bool(self.items) and not isinstance(self.items[-1], bytes | Head)

    @property
    def body(self) -> bytes:
        return b"".join(item for item in self.items if isinstance(item, bytes))

    @property
    def statuses(self) -> list[int]:
        return [item.status for item in self.items if isinstance(item, Head)]


class Opened:
    """A link, and what it told."""

    def __init__(self, link, told: Told) -> None:
        self.link = link
        self.told = told

    def post(self, body: bytes = b"{}", *, max_bytes=1 << 20, keep_alive=True) -> None:
        self.told.items.clear()
        fields = ((b"content-type", b"application/json"),)
        self.link.send(Outgoing("POST", fields, body, keep_alive), max_bytes=max_bytes)

    async def exchange(self, body: bytes = b"{}", **options) -> list[Item]:
        self.post(body, **options)
        await self.told.until(lambda: self.told.is_over)
        return self.told.items


def reaches(items: list[Item], body: bytes = b"{}") -> bool:
    """Whether these are a whole response that leaves its link open."""
    return items[1:] == [body, End(reusable=True, framed=True)] and items[0].status == 200


@pytest.fixture
async def connect(inner_node):
    """Open a link; it is closed with the test."""
    links = []

    async def connect(url, **options):
        origin = url if isinstance(url, Origin) else read_origin(url, HttpOptions(**options))
        if not isinstance(origin, Origin):
            raise origin
        told = Told()
        with anyio.fail_after(PATIENCE):
            link = await open_link(inner_node, origin, told)
        links.append(link)
        return Opened(link, told)

    yield connect
    for link in links:
        link.close()


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """Who made the certificates of the servers."""
    return Authority(tmp_path_factory.mktemp("authority"))
