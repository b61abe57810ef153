"""Links through TLS: whom they trust, and what they carry."""

from __future__ import annotations

import select
import socket
import ssl
import threading

import anyio
import pytest
from byte_servers import PATIENCE, answer_all, reply
from certificates import Authority

from snodo_actors.ports.http import dial as dialing
from snodo_actors.ports.http.origin import Origin, read_origin
from snodo_actors.ports.http.resolve import resolve
from snodo_actors.ports.http.tls import read_tls
from snodo_actors.wire.http1 import End, Truncated
from snodo_actors.words.errors import TransportError
from snodo_actors.words.http_options import HttpOptions
from snodo_actors.words.tls_options import TlsOptions

MIB = 1 << 20
TLS12 = {"maximum_version": ssl.TLSVersion.TLSv1_2}
WHOLE = End(reusable=True, framed=True)


@pytest.fixture(params=[{}, TLS12], ids=["1.3", "1.2"])
def version(request):
    return request.param


# ---- what is carried


async def test_requests_and_responses(serve, connect, authority, version):
    server = serve(answer_all, tls=authority.server(**version))
    opened = await connect(server.url, ssl=authority.file)
    assert opened.link.is_usable()  # the tickets of TLS 1.3 are not for us
    for n in range(50):
        await opened.exchange(b"%d" % n)
        assert (opened.told.body, opened.told.items[-1]) == (b"%d" % n, WHOLE)
        assert opened.link.is_usable()
    assert server.accepted == 1


async def test_much_of_it_both_ways(serve, connect, authority, version):
    server = serve(answer_all, tls=authority.server(**version))
    opened = await connect(server.url, ssl=authority.file)
    body = bytes(range(256)) * (5 * MIB // 256)
    await opened.exchange(body, max_bytes=len(body))
    assert opened.told.body == body
    assert opened.told.items[-1] == WHOLE
    assert opened.link.sent_bytes > len(body)


async def test_it_comes_byte_by_byte(serve, connect, authority):
    def talk(connection):
        connection.request()
        for n in reply(b'{"a":1}'):
            connection.send(bytes([n]))
        connection.wait_for_end()

    opened = await connect(serve(talk, tls=authority.server()).url, ssl=authority.file)
    await opened.exchange()
    assert (opened.told.body, opened.told.items[-1]) == (b'{"a":1}', WHOLE)


async def test_who_is_not_ready_holds_up_the_server(serve, connect, authority):
    sent = 0

    def talk(connection):
        nonlocal sent
        connection.request()
        connection.send(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % (32 * MIB))
        for _ in range(512):
            connection.send(b"x" * (64 * 1024))
            sent += 64 * 1024

    opened = await connect(serve(talk, tls=authority.server()).url, ssl=authority.file)
    opened.told.on_came = lambda items: opened.link.pause()
    opened.post(max_bytes=32 * MIB)
    await opened.told.until(lambda: opened.told.items)
    before = -1
    while before != sent:
        before = sent
        await anyio.sleep(0.1)
    assert sent < 32 * MIB
    opened.told.on_came = lambda items: None
    opened.link.resume()
    await opened.told.until(lambda: opened.told.is_over)
    assert len(opened.told.body) == 32 * MIB


@pytest.mark.parametrize("politely", [True, False])
@pytest.mark.parametrize(
    ("said", "last"),
    [
        (b"", Truncated(began=False)),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n{}", Truncated(began=True)),
        (b"HTTP/1.1 200 OK\r\n\r\n{}", End(reusable=False, framed=False)),
    ],
)
async def test_the_server_ends(serve, connect, authority, *, politely, said, last):
    def talk(connection):
        connection.request()
        if said:
            connection.send(said)
        if politely:
            connection.sock.settimeout(0.5)
            with pytest.raises((ssl.SSLError, OSError)):
                connection.sock.unwrap().recv(1)
                raise OSError

    opened = await connect(serve(talk, tls=authority.server()).url, ssl=authority.file)
    items = await opened.exchange()
    assert items[-1] == last
    assert not opened.link.is_usable()


@pytest.mark.parametrize("looked_at", [True, False])
@pytest.mark.parametrize("how", ["politely", "abruptly", "stray"])
async def test_an_idle_link_is_lost(serve, connect, authority, how, looked_at):
    go_on = threading.Event()

    def talk(connection):
        connection.request()
        connection.send(reply())
        go_on.wait(PATIENCE)
        if how == "politely":
            connection.sock.unwrap()
        if how == "stray":
            connection.send(b"x")
            connection.wait_for_end()

    opened = await connect(serve(talk, tls=authority.server()).url, ssl=authority.file)
    await opened.exchange()
    go_on.set()
    if looked_at:
        select.select([opened.link._sock], [], [], PATIENCE)  # holds the loop
        assert not opened.link.is_usable()
        assert not opened.link.is_usable()
        assert opened.told.lost_for == []
    await opened.told.until(lambda: opened.told.lost_for)
    assert opened.told.lost_for == [
        "the server sent what nobody had asked for"
        if how == "stray"
        else "the server closed the connection"
    ]


async def test_a_goodbye_that_comes_with_the_response(serve, connect, authority):
    def talk(connection):
        connection.request()
        connection.send(reply())
        connection.sock.setblocking(False)
        with pytest.raises(ssl.SSLWantReadError):
            connection.sock.unwrap()
        said.set()
        go_on.wait(PATIENCE)

    said, go_on = threading.Event(), threading.Event()
    opened = await connect(serve(talk, tls=authority.server(**TLS12)).url, ssl=authority.file)
    opened.link.pause()
    opened.post()
    assert said.wait(PATIENCE)
    opened.link.resume()  # both records are there now, and read at once
    await opened.told.until(lambda: opened.told.is_over)
    go_on.set()
    # Whoever sends the next request at once must not send it there.
    assert opened.told.items[-1] == End(reusable=False, framed=True)
    assert (opened.told.lost_for, opened.link.is_usable()) == ([], False)


async def test_bytes_that_are_no_tls(serve, connect, authority):
    def talk(connection):
        connection.request()
        with socket.socket(fileno=connection.sock.detach()) as sock:
            sock.sendall(b"\x17\x03\x03\x00\x05hello")

    opened = await connect(serve(talk, tls=authority.server()).url, ssl=authority.file)
    assert await opened.exchange() == [Truncated(began=False)]
    assert isinstance(opened.link.failure, ssl.SSLError)


async def test_the_server_is_told_when_we_close(serve, connect, authority):
    ended = []

    def talk(connection):
        connection.request()
        connection.send(reply())
        ended.append(connection.sock.recv(1))  # an end without a word would raise

    server = serve(talk, tls=authority.server())
    opened = await connect(server.url, ssl=authority.file)
    await opened.exchange()
    opened.link.close()
    server.close()
    assert (ended, server.errors) == ([b""], [])


# ---- whom it trusts


async def refusal(connect, url, **options):
    with pytest.raises(TransportError) as caught:
        await connect(url, **options)
    assert caught.value.cause == (
        "failed_connect",
        caught.value.message[len("could not connect: ") :],
    )
    assert caught.value.delivery == "never_sent"
    return caught.value.message


async def test_a_certificate_for_another_host(serve, connect, authority):
    server = serve(answer_all, tls=authority.server("other.test"))
    assert (
        f"the certificate of 127.0.0.1 port {server.port} is refused: "
        "IP address mismatch, certificate is not valid for '127.0.0.1'"
    ) in await refusal(connect, server.url, ssl=authority.file)
    named = server.url.replace("127.0.0.1", "localhost")
    assert "Hostname mismatch, certificate is not valid for 'localhost'" in await refusal(
        connect, named, ssl=authority.file
    )
    opened = await connect(server.url, ssl={"cafile": authority.file, "check_hostname": False})
    await opened.exchange()
    assert opened.told.statuses == [200]
    assert [error.reason for error in server.errors] == ["SSLV3_ALERT_BAD_CERTIFICATE"] * 2


async def test_a_certificate_that_has_expired(serve, connect, authority):
    server = serve(answer_all, tls=authority.server(expired=True))
    said = await refusal(connect, server.url, ssl=authority.file)
    assert said.endswith("is refused: certificate has expired")


async def test_a_certificate_of_an_unknown_authority(serve, connect, authority, tmp_path):
    server = serve(answer_all, tls=Authority(tmp_path).server())
    for option in (None, authority.file):
        said = await refusal(connect, server.url, ssl=option)
        assert said.endswith("is refused: unable to get local issuer certificate")
    opened = await connect(server.url, ssl={"verify": False})
    await opened.exchange()
    assert opened.told.statuses == [200]


async def test_a_name_and_a_dot_at_its_end(serve, connect, authority, monkeypatch):
    async def known(host, port):
        return await resolve(host.rstrip("."), port)  # not every system knows "localhost."

    monkeypatch.setattr(dialing, "resolve", known)
    server = serve(answer_all, tls=authority.server("localhost"))
    for host in ("localhost", "LOCALHOST", "localhost."):
        opened = await connect(server.url.replace("127.0.0.1", host), ssl=authority.file)
        await opened.exchange()
        assert opened.told.statuses == [200]


async def test_a_server_without_tls(serve, connect, authority):
    server = serve(lambda connection: connection.send(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    said = await refusal(connect, server.url.replace("http:", "https:"), ssl=authority.file)
    assert "no TLS with 127.0.0.1 port" in said
    assert "is its URL one with http:?" in said


async def test_a_server_that_hangs_up_in_the_handshake(serve, connect, authority):
    server = serve(lambda connection: connection.receive())
    said = await refusal(connect, server.url.replace("http:", "https:"), ssl=authority.file)
    assert said.endswith("closed the connection in the TLS handshake")


async def test_nothing_in_common(serve, connect, authority):
    server = serve(answer_all, tls=authority.server(**TLS12))
    context = read_tls(TlsOptions(cafile=authority.file, verify=True, check_hostname=False))
    modern = ssl.create_default_context(cafile=authority.file)
    modern.minimum_version = ssl.TLSVersion.TLSv1_3
    said = await refusal(connect, server.url, ssl=modern)
    assert "alert protocol version" in said
    opened = await connect(server.url, ssl=context)
    await opened.exchange()
    assert opened.told.statuses == [200]


@pytest.mark.parametrize("password", [None, b"secret"])
async def test_a_server_that_asks_who_we_are(serve, connect, authority, version, password):
    server = serve(answer_all, tls=authority.server(asks=authority, **version))
    cert, key = authority.client(password)
    mine = {"cafile": authority.file, "cert": cert, "key": key, "password": password}
    opened = await connect(server.url, ssl=mine)
    await opened.exchange()
    assert opened.told.statuses == [200]
    # Without a certificate: TLS 1.2 says so in the handshake, TLS 1.3 after it.
    if version:
        assert "handshake failure" in await refusal(connect, server.url, ssl=authority.file)
    else:
        opened = await connect(server.url, ssl=authority.file)
        await opened.told.until(lambda: opened.told.lost_for)
        assert "CERTIFICATE_REQUIRED" in str(opened.told.lost_for[0])


async def test_giving_up_in_the_handshake(serve, connect, authority):
    ended = threading.Event()

    def talk(connection):
        connection.wait_for_end()
        ended.set()

    server = serve(talk)
    with anyio.move_on_after(0.05) as scope:
        await connect(server.url.replace("http:", "https:"), ssl=authority.file)
    assert scope.cancelled_caught
    assert ended.wait(PATIENCE)


# ---- contexts


def context_for(option, url="https://some.test/"):
    origin = read_origin(url, HttpOptions(ssl=option))
    return origin.tls if isinstance(origin, Origin) else origin


def test_equal_options_share_a_context(authority):
    assert context_for(None) is context_for({}) is context_for({"verify": True})
    one = context_for(authority.file)
    assert one is context_for({"cafile": authority.file})
    assert one is not context_for({"cafile": authority.file, "check_hostname": False})
    assert one is not context_for(None)
    mine = ssl.create_default_context()
    assert context_for(mine) is mine
    assert context_for(None, "http://some.test/") is None


def test_a_file_that_was_renewed_is_read_again(tmp_path):
    authority = Authority(tmp_path)
    one = context_for(authority.file)
    assert context_for(authority.file) is one
    Authority(tmp_path)
    other = context_for(authority.file)
    assert other is not one
    assert one.get_ca_certs() != other.get_ca_certs()


def test_a_directory_of_authorities(authority):
    assert context_for(str(authority.folder)).verify_mode == ssl.CERT_REQUIRED


def test_what_is_verified(authority):
    usual = context_for(None)
    assert (usual.verify_mode, usual.check_hostname) == (ssl.CERT_REQUIRED, True)
    careless = context_for({"verify": False})
    assert (careless.verify_mode, careless.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.parametrize("url", ["https://some.test/", "http://some.test/"])
@pytest.mark.parametrize("name", ["cafile", "capath", "cert"])
def test_a_file_that_is_not_there(tmp_path, name, url):
    missing = str(tmp_path / "nothing.pem")
    error = context_for({name: missing}, url)
    if name == "capath":
        return  # OpenSSL looks there when it needs one
    assert isinstance(error, TransportError)
    assert error.message == f"the option ssl cannot be used: {missing}: No such file or directory"
    assert error.delivery == "never_sent"


def test_a_file_with_something_else(tmp_path, authority):
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("no certificate")
    _, key = authority.client(b"secret")
    cert, _ = authority.client(b"secret")
    for options, said in [
        ({"cafile": wrong}, "wrong.pem: no certificate or crl found"),
        ({"cert": wrong}, "wrong.pem: not what it should be"),
        ({"cert": cert, "key": key}, "client.pem: "),
        ({"cert": cert, "key": key, "password": "wrong"}, "client.pem: "),
    ]:
        assert said in context_for(options).message
