"""Through a proxy, which looks up names itself."""

from __future__ import annotations

import pytest
from byte_servers import Connection, answer_all
from proxy_servers import Proxying

from snodo_actors.oauth.words.errors import AuthorizationError

NEAR = "http://127.0.0.1:1/mcp"


class Resolving(Proxying):
    """A proxy for which every name is this machine."""

    def __call__(self, connection: Connection) -> None:
        request = connection.request

        def here() -> bytes:
            asked = request()
            self.said.append(asked)
            return asked.replace(b"CONNECT as.test:", b"CONNECT 127.0.0.1:")

        connection.request = here
        super().__call__(connection)

    def __init__(self, **options) -> None:
        super().__init__(**options)
        self.said: list[bytes] = []


@pytest.fixture
def as_test(serve, authority):
    return serve(answer_all, tls=authority.server("as.test"))


async def test_a_proxy_is_asked_for_the_name(serve, fetcher, names, as_test):
    talk = Resolving()
    proxy = serve(talk)
    url = f"https://as.test:{as_test.port}/token"
    fetching = fetcher(proxy=f"http://me:pass%20word@127.0.0.1:{proxy.port}")

    answer = await fetching.fetch("POST", url, form={"a": "b"})

    assert answer.body == b"a=b"
    assert names.asked == []
    (asked,) = [said for said in talk.said if said]
    assert asked.startswith(f"CONNECT as.test:{as_test.port} HTTP/1.1\r\n".encode())
    assert b"proxy-authorization: basic bwu6cgfzcyb3b3jk\r\n" in asked.lower()


async def test_a_proxy_of_the_environment(serve, fetcher, as_test, monkeypatch):
    talk = Resolving()
    proxy = serve(talk)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{proxy.port}")
    url = f"https://as.test:{as_test.port}/"

    assert (await fetcher().fetch("GET", url)).status == 200
    assert proxy.accepted == 1

    with pytest.raises(AuthorizationError, match="no such name"):
        await fetcher(proxy=None).fetch("GET", url)
    monkeypatch.setenv("NO_PROXY", "as.test")
    with pytest.raises(AuthorizationError, match="no such name"):
        await fetcher().fetch("GET", url)


async def test_a_proxy_with_tls(serve, fetcher, authority, as_test):
    proxy = serve(Resolving(), tls=authority.server("127.0.0.1"))

    answer = await fetcher(proxy=f"https://127.0.0.1:{proxy.port}").fetch(
        "GET", f"https://as.test:{as_test.port}/"
    )

    assert answer.status == 200


async def test_the_certificate_has_to_be_that_of_the_name(serve, fetcher, authority):
    server = serve(answer_all, tls=authority.server("other.test"))
    proxy = serve(Resolving())

    with pytest.raises(AuthorizationError, match="CERTIFICATE_VERIFY_FAILED"):
        await fetcher(proxy=f"http://127.0.0.1:{proxy.port}").fetch(
            "GET", f"https://as.test:{server.port}/"
        )


async def test_a_proxy_that_refuses(serve, fetcher):
    proxy = serve(Resolving(status=b"403 Forbidden"))

    with pytest.raises(AuthorizationError, match="failed: 403"):
        await fetcher(proxy=f"http://127.0.0.1:{proxy.port}").fetch("GET", "https://as.test/")


@pytest.mark.parametrize("host", ["10.0.0.1", "169.254.169.254", "[fd00::1]", "[::ffff:10.0.0.1]"])
async def test_an_address_is_judged_before_a_proxy_is_asked(serve, fetcher, host):
    proxy = serve(Resolving())

    with pytest.raises(AuthorizationError, match="is not asked"):
        await fetcher(proxy=f"http://127.0.0.1:{proxy.port}").fetch("GET", f"https://{host}/")

    assert proxy.accepted == 0


async def test_a_global_address_is_left_to_the_proxy(serve, fetcher):
    talk = Resolving(status=b"503 Later")
    proxy = serve(talk)

    with pytest.raises(AuthorizationError, match="503 Later"):
        await fetcher(proxy=f"http://127.0.0.1:{proxy.port}").fetch("GET", "https://8.8.8.8/")

    assert talk.said[0].startswith(b"CONNECT 8.8.8.8:443 ")


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
async def test_this_machine_is_asked_without_a_proxy(serve, fetcher, names, host):
    proxy, server = serve(Resolving()), serve(answer_all)
    names.answer(host, ("127.0.0.1",))

    answer = await fetcher(NEAR, proxy=f"http://127.0.0.1:{proxy.port}").fetch(
        "GET", f"http://{host}:{server.port}/"
    )

    assert (answer.status, proxy.accepted) == (200, 0)


async def test_a_proxy_that_is_none(fetcher):
    with pytest.raises(AuthorizationError, match="the proxy 'socks5://p' cannot be used") as caught:
        await fetcher(proxy="socks5://me:secret@p").fetch("GET", "https://as.test/")

    assert "secret" not in f"{caught.value} {caught.value.cause}"
