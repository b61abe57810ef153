from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.networks import allowed, permitted, reach, reach_of_name

REACHES = {
    "global": """1.1.1.1 8.8.8.8 172.15.255.255 172.32.0.0 100.63.255.255 100.128.0.0 11.0.0.0
        223.255.255.255 2606:4700::1111 2a00::1 ::ffff:8.8.8.8 64:ff9b::808:808 2002:808:808::1
        2400:cb00::1""",
    "loopback": "127.0.0.1 127.255.255.254 ::1 ::ffff:127.0.0.1 ::ffff:7f00:1",
    "private": """10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255
        fc00::1 fd12:3456::1 ::ffff:10.0.0.1 ::ffff:100.64.0.1""",
    "never": """0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 ::ffff:169.254.169.254 fe80::1
        fe80::1%eth0 fe80::a9fe:a9fe 224.0.0.1 239.255.255.255 ff02::1 ff0e::1 240.0.0.1
        255.255.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.88.99.1 198.18.0.1 198.19.255.255
        198.51.100.1 203.0.113.1 :: ::2 ::127.0.0.1 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1
        64:ff9b::10.0.0.1 64:ff9b::169.254.169.254 64:ff9b:1::8.8.8.8 2002:7f00:1:: 2002:a00:1::
        2002:a9fe:a9fe:: 2001:0:808:808::1 2001:10::1 2001:db8::1 3fff::1 fec0::1 100::1 5f00::1
        4000::1 100.100.100.200 168.63.129.16 fd00:ec2::254 fd20:ce::254 ::ffff:0.0.0.0
        localhost 127.1 0x7f000001 2130706433 10.0.0.1/8""",
}
ROWS = [(how_far, address) for how_far in REACHES for address in REACHES[how_far].split()]


@pytest.mark.parametrize(("how_far", "address"), [("never", ""), *ROWS])
def test_how_far_an_address_reaches(how_far: str, address: str) -> None:
    assert how_far == reach(address)


@pytest.mark.parametrize(
    ("host", "how_far"),
    [
        ("localhost", "loopback"),
        ("localhost.", "loopback"),
        ("as.localhost", "loopback"),
        ("127.0.0.1", "loopback"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("10.0.0.1", "private"),
        ("169.254.169.254", "never"),
        ("8.8.8.8", "global"),
        ("as.test", None),
        ("localhost.test", None),
    ],
)
def test_what_a_host_says_itself(host: str, how_far: str | None) -> None:
    assert how_far == reach_of_name(host)


@pytest.mark.parametrize(
    ("server", "reaches"),
    [
        ("mcp.test", {"global"}),
        ("8.8.8.8", {"global"}),
        ("169.254.169.254", {"global"}),
        ("localhost", {"global", "loopback"}),
        ("::1", {"global", "loopback"}),
        ("192.168.1.1", {"global", "private"}),
        ("100.64.1.1", {"global", "private"}),
    ],
)
def test_whom_a_server_may_name(server: str, reaches: set[str]) -> None:
    everyone = {"global", "loopback", "private"}

    assert reaches == allowed(server, private_networks=False)
    assert everyone == allowed(server, private_networks=True)


def test_clear_text_stays_here_and_a_server_may_name_itself() -> None:
    far, near = allowed("mcp.test", private_networks=False), allowed("::1", private_networks=False)

    assert frozenset() == permitted(far, in_clear_text=True, is_own_origin=True)
    assert {"loopback"} == permitted(near, in_clear_text=True, is_own_origin=False)
    assert far == permitted(far, in_clear_text=False, is_own_origin=False)
    everyone = {"global", "loopback", "private"}
    assert everyone == permitted(far, in_clear_text=False, is_own_origin=True)
