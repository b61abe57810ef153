"""The hosts of URLs: which are understood, and which are this machine.

Knows names and addresses as they are written; knows nothing of what a name leads to.
"""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Final

_NAME: Final = re.compile(r"(?=.{1,253}\.?$)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*\.?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_MAX_LENGTH: Final = 254
_LOOPBACK: Final = ip_network("127.0.0.0/8")


def read_host(v6: str | None, name: str) -> str | None:
    """Write a host in lower case and ASCII; None where readers may disagree about it.

    It is the text inside brackets, *v6*, or else a *name*. Addresses in old spellings, such as
    ``127.1`` or ``0x7f000001``, are an address to some and a name to others.
    """
    if v6 is not None:
        address = _address(v6)
        # A zone means something on one machine only.
        return None if address is None or "%" in v6 else address.compressed
    if len(name) > _MAX_LENGTH:
        return None  # before it costs idna much time
    host = name.lower() if name.isascii() else _to_ascii(name.lower())
    if _NAME.fullmatch(host) is None:
        return None
    # Names of the top level are no numbers, so this is meant to be an address.
    if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]) and _address(host) is None:
        return None
    return host


def is_loopback(host: str) -> bool:
    """Tell whether *host*, as `read_host` writes it, is this machine as it stands there."""
    address = _address(host)
    if address is None:
        return host == "localhost"
    return address == IPv6Address("::1") or address in _LOOPBACK


def _address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return IPv6Address(host) if ":" in host else IPv4Address(host)
    except ValueError:
        return None


def _to_ascii(host: str) -> str:
    import idna  # noqa: PLC0415  # its tables are large, and most hosts are ASCII

    try:
        return idna.encode(host).decode()
    except idna.IDNAError:
        return ""
