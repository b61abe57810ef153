"""Connections that are made, refused, overtaken or given up."""

from __future__ import annotations

import queue
import socket
import threading
import time

import anyio
import pytest
from byte_servers import answer_all

from snodo_actors.ports.http import dial as dialing
from snodo_actors.ports.http import resolve as resolving
from snodo_actors.ports.http.dial import HEAD_START, dial
from snodo_actors.ports.http.link import NOBODY
from snodo_actors.ports.http.open import open_link
from snodo_actors.ports.http.origin import read_origin
from snodo_actors.ports.http.resolve import resolve
from snodo_actors.words.errors import TransportError
from snodo_actors.words.http_options import HttpOptions


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.fixture
def free_port():
    """A port where nobody listens; it is held, so that nobody begins to."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock.getsockname()[1]


@pytest.fixture
def silent():
    """A place that never answers: its queue is full."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.3", 0))
        listener.listen(0)
        waiting = []
        try:
            while True:
                sock = socket.socket()
                waiting.append(sock)
                sock.settimeout(0.2)
                sock.connect(listener.getsockname())
        except TimeoutError:
            pass
        yield listener.getsockname()
        for sock in waiting:
            sock.close()


@pytest.fixture
def called(monkeypatch):
    """Give a name its addresses, as a name server would."""

    def call(name, *addresses):
        async def known(host, port):
            assert host == name
            return [(socket.AF_INET, (address, port)) for address in addresses]

        monkeypatch.setattr(dialing, "resolve", known)

    return call


async def test_a_refused_connection_says_where_and_why(connect, free_port):
    with pytest.raises(TransportError) as caught:
        await connect(f"http://127.0.0.1:{free_port}/")
    why = f"127.0.0.1 port {free_port}: Connection refused"
    assert caught.value.message == f"could not connect: {why}"
    assert caught.value.cause == ("failed_connect", why)
    assert caught.value.delivery == "never_sent"
    assert isinstance(caught.value.__cause__, OSError)


async def test_a_name_is_looked_up(serve, connect):
    server = serve(answer_all)
    opened = await connect(f"http://localhost:{server.port}/")
    assert opened.told.statuses == []
    await opened.exchange()
    assert opened.told.statuses == [200]


async def test_an_unknown_name_says_so(connect):
    with pytest.raises(TransportError, match=r"could not connect: nowhere\.invalid: ") as caught:
        await connect("http://nowhere.invalid/")
    assert caught.value.cause[0] == "failed_connect"


@pytest.mark.skipif(not has_ipv6(), reason="needs IPv6")
async def test_ipv6(serve, connect):
    seen = []

    def talk(connection):
        seen.append(connection.request())

    server = serve(talk, host="::1")
    opened = await connect(server.url)
    await opened.exchange()
    assert b"\r\nhost: [::1]:%d\r\n" % server.port in seen[0]


# ---- several addresses


async def test_the_address_that_answers_is_taken(serve, connect, called):
    server = serve(answer_all)
    called("some.test", "127.0.0.2", "127.0.0.4", "127.0.0.1")
    began = time.monotonic()
    opened = await connect(f"http://some.test:{server.port}/")
    assert time.monotonic() - began < HEAD_START  # a refusal is not waited for
    assert opened.link._sock.getpeername() == ("127.0.0.1", server.port)


async def test_a_silent_address_is_overtaken(serve, connect, called, silent):
    address, port = silent
    serve(answer_all, port=port)
    called("some.test", address, "127.0.0.1")
    began = time.monotonic()
    opened = await connect(f"http://some.test:{port}/")
    assert time.monotonic() - began >= HEAD_START
    assert opened.link._sock.getpeername() == ("127.0.0.1", port)


async def test_where_nobody_answers_each_says_why(connect, called, free_port):
    called("some.test", "127.0.0.2", "127.0.0.1")
    with pytest.raises(TransportError) as caught:
        await connect(f"http://some.test:{free_port}/")
    assert caught.value.message == (
        f"could not connect: 127.0.0.2 port {free_port}: Connection refused; "
        f"127.0.0.1 port {free_port}: Connection refused"
    )


async def test_families_take_turns(inner_node):
    four, six = socket.AF_INET, socket.AF_INET6
    given = [(six, "a"), (six, "b"), (six, "c"), (four, "d")]
    assert dialing._interleaved(given) == [(six, "a"), (four, "d"), (six, "b"), (six, "c")]


# ---- giving up


@pytest.mark.parametrize("addresses", [1, 2])
async def test_giving_up_leaves_nothing(inner_node, called, silent, addresses):
    address, port = silent
    called("some.test", *[address] * addresses)
    with anyio.move_on_after(0.05 if addresses == 1 else HEAD_START + 0.05) as scope:
        await dial("some.test", port)
    assert scope.cancelled_caught


async def test_giving_up_while_a_name_is_looked_up(inner_node, monkeypatch):
    answered = threading.Event()

    def slow(*args, **options):
        if options.get("flags"):
            raise socket.gaierror(socket.EAI_NONAME, "no number")
        answered.wait(5.0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.9", 1))]

    monkeypatch.setattr(resolving.socket, "getaddrinfo", slow)
    with anyio.move_on_after(0.02) as scope:
        await resolve("slow.test", 1)
    assert scope.cancelled_caught
    found = []
    async with anyio.create_task_group() as group:

        async def ask():
            found.append(await resolve("slow.test", 1))

        for _ in range(5):
            group.start_soon(ask)
        await anyio.sleep(0.01)
        assert len(resolving._threads) == 1  # they all wait for the same answer
        answered.set()
    assert found == [[(socket.AF_INET, ("127.0.0.9", 1))]] * 5


async def test_names_wait_for_a_thread(inner_node, monkeypatch):
    monkeypatch.setattr(resolving, "MAX_THREADS", 2)
    most = 0

    async def ask(n):
        nonlocal most
        with pytest.raises(OSError, match=f"name-{n}"):
            await resolve(f"name-{n}.invalid", 1)
        most = max(most, len(resolving._threads))

    async with anyio.create_task_group() as group:
        for n in range(10):
            group.start_soon(ask, n)
    assert most <= 2
    assert not resolving._sought


async def test_a_socket_that_reaches_itself_is_nobody(inner_node, monkeypatch):
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    monkeypatch.setattr(dialing, "_tune", lambda sock: sock.bind(("127.0.0.1", port)))
    with pytest.raises(OSError, match="Connection refused"):
        await dial("127.0.0.1", port)


# ---- in the tasks of a node


class Opening:
    """A link that is opened on a node of its own thread."""

    def __init__(self, node, url):
        self._node = node
        self._url = url
        self.outcome = queue.SimpleQueue()
        node.post(self._start)

    def _start(self):
        self._task = self._node.spawn_task(self._open(), "opens")

    async def _open(self):
        try:
            origin = read_origin(self._url, HttpOptions())
            self.outcome.put(await open_link(self._node, origin, NOBODY))
        except TransportError as error:
            self.outcome.put(error)
        finally:
            self.outcome.put("over")

    def cancel(self):
        self._node.post(self._cancel)

    def _cancel(self):
        self._task.cancel()


@pytest.mark.parametrize("addresses", [1, 2])
def test_a_task_of_a_node_gives_up(node, called, silent, addresses):
    address, port = silent
    called("some.test", *[address] * addresses)
    opening = Opening(node, f"http://some.test:{port}/")
    with pytest.raises(queue.Empty):
        opening.outcome.get(timeout=HEAD_START * 1.2)
    opening.cancel()
    assert opening.outcome.get(timeout=5.0) == "over"


def test_a_task_of_a_node_opens(node, serve):
    opening = Opening(node, serve(answer_all).url)
    link = opening.outcome.get(timeout=5.0)
    assert opening.outcome.get(timeout=5.0) == "over"
    closed = threading.Event()
    node.post(lambda: (link.close(), closed.set()))
    assert closed.wait(5.0)


def test_a_task_of_a_node_is_refused(node, free_port):
    opening = Opening(node, f"http://127.0.0.1:{free_port}/")
    assert isinstance(opening.outcome.get(timeout=5.0), TransportError)
