"""Which connections may lead to a URL.

A name is looked up here, its addresses are judged, and one of those very addresses is connected to:
a name that leads elsewhere at the second look (DNS rebinding) gains nothing, as there is none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import NoReturn, TypeAlias

import httpx

from snodo_actors.oauth.machines.networks import Reach, allowed, permitted, reach, reach_of_name
from snodo_actors.oauth.machines.urls import Parts, read_endpoint, same_origin, shown
from snodo_actors.oauth.words.errors import AuthorizationError
from snodo_actors.ports.http.proxy import basic_authorization, find_proxy
from snodo_actors.ports.http.resolve import Address
from snodo_actors.ports.http.tls import read_tls
from snodo_actors.ports.http.url import Url
from snodo_actors.words.errors import TransportError
from snodo_actors.words.tls_options import TlsOptions
from snodo_actors.words.types import Inherit

Resolve: TypeAlias = Callable[[str, int], Awaitable[list[Address]]]
Transport: TypeAlias = Callable[[], httpx.AsyncBaseTransport]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to where a URL leads: an address of its own, or by name through a transport."""

    host: str
    transport: Transport
    extensions: dict[str, str] = field(default_factory=dict[str, str])
    """What httpx is told besides."""


class Ways:
    """Finds the ways that one `Fetcher` may go."""

    def __init__(
        self,
        server_url: str,
        *,
        ssl: SSLContext | TlsOptions | None,
        proxy: str | Inherit | None,
        private_networks: bool,
        transport: Transport | None,
        resolve: Resolve,
    ) -> None:
        self._server_url = server_url
        self._ssl = ssl
        self._proxy = proxy
        self._transport = transport
        self._resolve = resolve
        server = read_endpoint(server_url)
        host = "" if isinstance(server, str) else server.host
        self._allowed = allowed(host, private_networks=private_networks)

    async def find(self, parts: Parts, url: str) -> list[Way]:
        """Find the ways to *url*, which *parts* are of; there is at least one.

        Raises:
            AuthorizationError: There is none, or none that may be gone.
        """
        if self._transport is not None:
            return [Way(parts.host, self._transport)]
        named = reach_of_name(parts.host)
        proxy = None if named == "loopback" else self._find_proxy(parts)
        if proxy is not None:
            if named is not None:
                self._judge([named], parts, url)
            tls = self._tls()
            return [Way(parts.host.rstrip("."), lambda: _connections(tls, proxy))]
        try:
            found = await self._resolve(parts.host, parts.port)
        except OSError as error:
            fail(f"no connection to {shown(url)}: {error.strerror or error}", error)
        hosts = list(dict.fromkeys(where[0] for _, where in found))
        good = self._judge([reach(host) for host in hosts], parts, url)
        tls = self._tls()
        # The certificate has to be that of the name, not of an address.
        named_so = {"sni_hostname": parts.host.rstrip(".")}
        return [
            Way(host, lambda: _connections(tls), named_so) for host in hosts if reach(host) in good
        ]

    def _judge(self, reaches: list[Reach], parts: Parts, url: str) -> frozenset[Reach]:
        """Say which addresses are good; there is one among those that are that far away."""
        good = permitted(
            self._allowed,
            in_clear_text=parts.scheme == "http",
            is_own_origin=same_origin(url, self._server_url),
        )
        if good.isdisjoint(reaches):
            fail(
                f"{shown(url)} is not asked: its address is private, of this machine, or reserved, "
                f"and that of the MCP server {shown(self._server_url)} is not; "
                "if you trust that server, pass allow_private_networks=True"
                if not {"loopback", "private"}.isdisjoint(reaches)
                else f"{shown(url)} is not asked: it has no address that others may use"
            )
        return good

    def _find_proxy(self, parts: Parts) -> httpx.Proxy | None:
        url = Url(parts.scheme, parts.host, parts.port, parts.target, "")
        proxy = find_proxy(url, self._proxy)
        if isinstance(proxy, TransportError):
            fail(proxy.message, proxy)
        if proxy is None:
            return None
        authorization = basic_authorization(proxy)
        return httpx.Proxy(
            httpx.URL(scheme=proxy.scheme, host=proxy.host, port=proxy.port),
            ssl_context=self._tls() if proxy.scheme == "https" else None,
            headers=None
            if authorization is None
            else {"proxy-authorization": authorization.decode()},
        )

    def _tls(self) -> SSLContext:
        try:
            return read_tls(self._ssl)
        except OSError as error:
            fail(f"the option ssl cannot be used: {error.strerror or error}", error)


def _connections(tls: SSLContext, proxy: httpx.Proxy | None = None) -> httpx.AsyncHTTPTransport:
    return httpx.AsyncHTTPTransport(verify=tls, proxy=proxy, trust_env=False)


def fail(message: str, cause: Exception | None = None) -> NoReturn:
    """Raise the error of this step."""
    raise AuthorizationError("fetch", message, cause=cause) from cause
