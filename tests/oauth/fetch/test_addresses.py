"""Which addresses are connected to: names are the servers' own, and may lead anywhere."""

from __future__ import annotations

import time

import pytest
from byte_servers import answer_all, reply

from snodo_actors.oauth.words.errors import AuthorizationError

NEAR = "http://127.0.0.1:1/mcp"
REFUSED = "is not asked: its address is private"


async def test_a_name_is_looked_up_once_and_its_address_is_what_is_connected_to(
    serve, fetcher, names, authority
):
    heard = []

    def talk(connection):
        heard.append(connection.request())
        connection.send(reply())

    tls = authority.server("as.test")
    tls.sni_callback = lambda sock, name, context: heard.append(name)
    server = serve(talk, tls=tls)
    # Whoever looked a second time would be led to a cloud's credentials.
    names.answer("as.test", ("127.0.0.1",), ("169.254.169.254",))

    answer = await fetcher(NEAR).fetch("GET", f"https://AS.test:{server.port}/a?b")

    assert answer.status == 200
    assert names.asked == [("as.test", server.port)]
    name, request = heard
    assert name == "as.test"
    assert request.startswith(b"GET /a?b HTTP/1.1\r\n")
    assert f"\r\nhost: as.test:{server.port}\r\n".encode() in request.lower()


async def test_the_certificate_has_to_be_that_of_the_name(serve, fetcher, names, authority):
    server = serve(answer_all, tls=authority.server("127.0.0.1", "other.test"))
    names.answer("as.test", ("127.0.0.1",))

    with pytest.raises(AuthorizationError, match="no connection to https://as") as caught:
        await fetcher(NEAR).fetch("GET", f"https://as.test:{server.port}/")

    assert "CERTIFICATE_VERIFY_FAILED" in str(caught.value)


async def test_an_address_has_a_certificate_too(serve, fetcher, names, authority):
    server = serve(answer_all, tls=authority.server("127.0.0.1"))
    names.answer("127.0.0.1", ("127.0.0.1",))

    assert (await fetcher(NEAR).fetch("GET", server.url)).status == 200


async def test_an_ipv6_address(serve, fetcher, names, authority):
    server = serve(answer_all, host="::1", tls=authority.server("::1"))
    names.answer("::1", ("::1",))

    assert (await fetcher(NEAR).fetch("GET", server.url)).status == 200


@pytest.mark.parametrize(
    "place",
    [
        ("as.test", "127.0.0.1"),
        ("as.test", "::ffff:127.0.0.1"),
        ("as.test", "10.0.0.1"),
        ("as.test", "100.64.0.1"),
        ("as.test", "fd00::1"),
        ("as.localhost", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("127.0.0.1", "127.0.0.1"),
        ("10.0.0.1", "10.0.0.1"),
    ],
)
async def test_a_server_that_is_far_away_names_no_neighbour_of_ours(
    serve, fetcher, names, authority, place
):
    host, address = place
    server = serve(answer_all, tls=authority.server(host))
    names.answer(host, (address,))

    with pytest.raises(AuthorizationError, match=REFUSED) as caught:
        await fetcher().fetch("POST", f"https://{host}:{server.port}/token", form={"a": "b"})

    assert "pass allow_private_networks=True" in str(caught.value)
    assert server.accepted == 0


@pytest.mark.parametrize("url", ["http://localhost:{}/", "http://127.0.0.1:{}/"])
async def test_clear_text_is_no_way_around(serve, fetcher, names, url):
    server = serve(answer_all)
    names.answer("localhost", ("127.0.0.1",))
    names.answer("127.0.0.1", ("127.0.0.1",))

    with pytest.raises(AuthorizationError, match=REFUSED):
        await fetcher().fetch("GET", url.format(server.port))

    assert server.accepted == 0
    for allowing in (fetcher(NEAR), fetcher(allow_private_networks=True)):
        assert (await allowing.fetch("GET", url.format(server.port))).status == 200


@pytest.mark.parametrize("address", ["10.0.0.1", "8.8.8.8"])
async def test_localhost_that_leads_away_is_not_asked_in_clear_text(fetcher, names, address):
    names.answer("localhost", (address,))

    with pytest.raises(AuthorizationError, match="http://localhost/ is not asked"):
        await fetcher(NEAR, allow_private_networks=True).fetch("GET", "http://localhost/")


@pytest.mark.parametrize(
    "address",
    ["169.254.169.254", "::ffff:169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "::"],
)
async def test_some_addresses_are_never_asked(fetcher, names, address):
    names.answer("as.test", (address,))

    with pytest.raises(AuthorizationError, match="no address that others may use"):
        await fetcher(NEAR, allow_private_networks=True).fetch("GET", "https://as.test/")


async def test_among_addresses_only_the_good_are_connected_to(serve, fetcher, names, authority):
    tls = authority.server("as.test")
    trap = serve(answer_all, tls=tls)
    server = serve(answer_all, host="127.0.0.2", port=trap.port, tls=tls)
    other = serve(answer_all, host="127.0.0.3", port=trap.port, tls=tls)
    # Whoever connects to 0.0.0.0 comes to 127.0.0.1.
    names.answer("as.test", ("0.0.0.0", "::ffff:0.0.0.0", "127.0.0.2", "127.0.0.3"))

    answer = await fetcher(NEAR).fetch("GET", f"https://as.test:{trap.port}/")

    assert answer.status == 200
    assert (trap.accepted, server.accepted, other.accepted) == (0, 1, 0)


async def test_an_address_where_nobody_listens_is_passed_by(serve, fetcher, names, authority):
    server = serve(answer_all, tls=authority.server("as.test"))
    names.answer("as.test", ("127.0.0.2", "127.0.0.3", "127.0.0.1"))
    url = f"https://as.test:{server.port}/"

    assert (await fetcher(NEAR).fetch("POST", url, form={"a": "b"})).body == b"a=b"

    names.answer("as.test", ("127.0.0.2", "127.0.0.3"))
    with pytest.raises(AuthorizationError, match="no connection to"):
        await fetcher(NEAR).fetch("GET", url)


async def test_an_address_that_says_nothing_leaves_time_for_the_next(
    serve, fetcher, names, authority
):
    server = serve(answer_all, tls=authority.server("as.test"))
    silent = serve(lambda connection: connection.wait_for_end(), host="127.0.0.2", port=server.port)
    names.answer("as.test", ("127.0.0.2", "127.0.0.1"))
    began = time.monotonic()

    answer = await fetcher(NEAR, timeout=1.0).fetch("GET", f"https://as.test:{server.port}/")

    assert (answer.status, silent.accepted) == (200, 1)
    assert 0.4 < time.monotonic() - began < 1.0


async def test_a_request_that_was_sent_is_not_sent_to_the_next_address(
    serve, fetcher, names, authority
):
    tls = authority.server("as.test")
    server = serve(answer_all, tls=tls)
    serve(lambda connection: connection.request(), host="127.0.0.2", port=server.port, tls=tls)
    names.answer("as.test", ("127.0.0.2", "127.0.0.1"))

    with pytest.raises(AuthorizationError, match="the request to https://as"):
        await fetcher(NEAR).fetch("POST", f"https://as.test:{server.port}/", form={"code": "x"})

    assert server.accepted == 0


async def test_the_server_itself_may_be_a_neighbour_but_names_none(
    serve, fetcher, names, authority
):
    tls = authority.server("mcp.test", "as.test")
    server, other = serve(answer_all, tls=tls), serve(answer_all, tls=tls)
    names.answer("mcp.test", ("127.0.0.1",))
    names.answer("as.test", ("127.0.0.1",))
    asking = fetcher(f"https://mcp.test:{server.port}/mcp")

    assert (
        await asking.fetch("GET", f"https://mcp.test:{server.port}/.well-known/x")
    ).status == 200
    for url in (f"https://mcp.test:{other.port}/", f"https://as.test:{other.port}/"):
        with pytest.raises(AuthorizationError, match=REFUSED):
            await asking.fetch("GET", url)
    assert other.accepted == 0


async def test_private_networks_are_let_in_where_the_server_is_in_one(fetcher, names):
    """No connection is made to them: 10.0.0.1 might be somebody."""
    names.answer("as.test", ("127.0.0.1",))

    with pytest.raises(AuthorizationError, match=REFUSED):
        await fetcher("https://10.0.0.1/mcp").fetch("GET", "https://as.test/")
