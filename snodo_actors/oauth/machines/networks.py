"""Which addresses are asked for metadata and tokens.

Knows networks and what they are for; knows nothing of names, and looks nothing up.

The tables are those of IANA (special-purpose address registries), written out: the ones inside
Python's `ipaddress` differ from one patch of Python to the next, and call 6to4 and others global.
What it has come to know since, counts too.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final, Literal, TypeAlias

from snodo_actors.oauth.machines.hosts import is_loopback

Reach: TypeAlias = Literal["global", "loopback", "private", "never"]
"""How far an address reaches: everywhere, this machine, somebody's own network; or not for us."""

_LOOPBACK: Final = tuple(map(ip_network, ("127.0.0.0/8", "::1/128")))
_PRIVATE: Final = tuple(
    map(
        ip_network,
        (
            "10.0.0.0/8",
            "172.16.0.0/12",
            "192.168.0.0/16",
            "100.64.0.0/10",  # behind the NAT of a provider
            "fc00::/7",
        ),
    )
)
# Besides link-local 169.254.169.254: whoever asks there is given the rights of the machine.
_CLOUD: Final = tuple(
    map(
        ip_network,
        ("100.100.100.200/32", "168.63.129.16/32", "fd00:ec2::/32", "fd20:ce::254/128"),
    )
)
_NEVER: Final = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",  # "this network"; 0.0.0.0 is this machine
            "169.254.0.0/16",  # link-local
            "192.0.0.0/24",  # of the protocols
            "192.0.2.0/24",  # documentation
            "192.88.99.0/24",  # relays of 6to4
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, broadcast
            "2001::/23",  # of the protocols: Teredo, ORCHID, benchmarks
            "2001:db8::/32",  # documentation
            "3fff::/20",  # documentation
        ),
    )
)
_EVERYWHERE: Final = frozenset[Reach]({"global"})
_NEIGHBOURS: Final = frozenset[Reach]({"loopback", "private"})
_UNICAST: Final = ip_network("2000::/3")
"""All of IPv6 that is given out to anyone."""
_MAPPED: Final = ip_network("::ffff:0:0/96")
_NAT64: Final = ip_network("64:ff9b::/96")
_SIX_TO_FOUR: Final = ip_network("2002::/16")


def reach(address: str) -> Reach:
    """Tell how far *address* reaches; what is no address is never asked."""
    try:
        return _reach(ip_address(address))
    except ValueError:
        return "never"


def reach_of_name(host: str) -> Reach | None:
    """Tell how far *host* reaches, if that can be told without a look-up.

    *host* is one as `urls.Parts` has it.
    """
    name = host.rstrip(".")
    if is_loopback(name) or name.endswith(".localhost"):
        return "loopback"
    try:
        return _reach(ip_address(host))
    except ValueError:
        return None


def allowed(server_host: str, *, private_networks: bool) -> frozenset[Reach]:
    """List how far addresses may reach that an MCP server at *server_host* has us ask.

    One that is on this machine, or in a private network, may name its neighbours, if its URL says
    that it is there. That its name leads there says nothing: whoever owns the name of a server
    can have it lead anywhere, for as long as we look.
    """
    if private_networks:
        return _EVERYWHERE | _NEIGHBOURS
    own = reach_of_name(server_host)
    return _EVERYWHERE if own is None else _EVERYWHERE | (_NEIGHBOURS & {own})


def permitted(
    reaches: frozenset[Reach], *, in_clear_text: bool, is_own_origin: bool
) -> frozenset[Reach]:
    """Narrow or widen what is `allowed` for one URL.

    What goes in clear text goes to this machine only, whatever its name leads to. The very origin
    of the MCP server may be anywhere but where nobody is asked: we talk to it in any case, and with
    TLS its certificate shows that it is no neighbour of ours under a name of its own.
    """
    if in_clear_text:
        return reaches & {"loopback"}
    return reaches | _NEIGHBOURS if is_own_origin else reaches


def _reach(address: IPv4Address | IPv6Address) -> Reach:
    if isinstance(address, IPv6Address):
        inner = IPv4Address(int(address) & 0xFFFFFFFF)
        if address in _MAPPED:
            return _reach(inner)
        if address in _NAT64:
            return "global" if _reach(inner) == "global" else "never"
        if address in _SIX_TO_FOUR:
            inner = IPv4Address(int(address) >> 80 & 0xFFFFFFFF)
            return "global" if _reach(inner) == "global" else "never"
    if any(address in network for network in (*_CLOUD, *_NEVER)):
        return "never"
    if any(address in network for network in _LOOPBACK):
        return "loopback"
    if any(address in network for network in _PRIVATE):
        return "private"
    is_given_out = address.version == 4 or address in _UNICAST
    return "global" if is_given_out and address.is_global else "never"
