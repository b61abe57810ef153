"""What is sent, and what is taken as an answer."""

from __future__ import annotations

import anyio
import httpx
import pytest
from byte_servers import Connection, reply

from snodo_actors.oauth.fetch import Answer, Fetcher
from snodo_actors.oauth.words.errors import AuthorizationError

HERE = "http://127.0.0.1:1/mcp"
"""An MCP server on this machine."""


class Saying:
    """Answers one request after the other as it was told; `heard` is what came."""

    def __init__(self, *answers: bytes) -> None:
        self._answers = list(answers)
        self.heard: list[bytes] = []
        self.ended = 0

    def __call__(self, connection: Connection) -> None:
        while request := connection.request():
            self.heard.append(request)
            connection.send(self._answers.pop(0))
        self.ended += 1


def fields_of(request: bytes) -> dict[str, str]:
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    fields = dict(line.lower().split(": ", 1) for line in lines)
    assert len(fields) == len(lines), "a field came twice"
    return fields


async def test_a_form_is_posted(serve):
    talk = Saying(reply(b'{"a":1}', status=b"400 Bad Request", fields=b"DPoP-Nonce: n\r\n"))
    server = serve(talk)
    url = f"http://127.0.0.1:{server.port}/token?tenant=1"

    answer = await Fetcher(HERE).fetch(
        "POST",
        url,
        headers=[("Authorization", "Basic eA==")],
        form={"grant_type": "x", "s": "a b&"},
    )

    assert (url, 400, {"a": 1}) == (answer.url, answer.status, answer.json())
    assert answer.headers["dpop-nonce"] == "n"
    (request,) = talk.heard
    assert request.startswith(b"POST /token?tenant=1 HTTP/1.1\r\n")
    assert request.endswith(b"\r\n\r\ngrant_type=x&s=a+b%26")
    assert {
        "host": f"127.0.0.1:{server.port}",
        "accept": "*/*",
        "accept-encoding": "identity",
        "user-agent": "snodo-actors",
        "content-type": "application/x-www-form-urlencoded",
        "content-length": "21",
        "authorization": "basic ea==",
    } == fields_of(request)


async def test_json_is_posted_and_a_header_replaces_the_usual_one(serve):
    talk = Saying(reply(b"[]"))
    server = serve(talk)

    await Fetcher(HERE).fetch(
        "POST", server.url, headers=[("Accept", "application/json")], json={"a": ["ü"]}
    )

    (request,) = talk.heard
    assert request.endswith('\r\n\r\n{"a":["ü"]}'.encode())
    fields = fields_of(request)
    assert (fields["accept"], fields["content-type"]) == ("application/json", "application/json")


async def test_a_get_has_no_body_and_its_connection_ends(serve):
    talk = Saying(reply(b"{}"))
    server = serve(talk)

    await Fetcher(HERE).fetch("GET", server.url)

    assert "content-length" not in fields_of(talk.heard[0])
    with anyio.fail_after(5):
        while not talk.ended:
            await anyio.sleep(0.01)


@pytest.mark.parametrize(
    "body",
    [b"", b"1", b"null", b'"x"', b"{", b"{}x", b"<html>", b"[NaN]", b'["\xff"]', b"[" * 9999],
)
def test_an_answer_without_json_says_so(body):
    answer = Answer("https://as.test/token?secret", 200, httpx.Headers(), body)

    with pytest.raises(AuthorizationError, match="/token did not answer with JSON"):
        answer.json()


def test_an_answer_shows_nothing_of_itself():
    answer = Answer("https://as.test/", 200, httpx.Headers({"a": "secret"}), b"secret")

    assert "secret" not in repr(answer)


async def test_environment_and_cookies_are_not_used(serve, monkeypatch, tmp_path):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    talk = Saying(
        reply(status=b"302 Found", fields=b"location: /b\r\nset-cookie: a=b\r\n"), reply()
    )
    server = serve(talk)
    fetcher = Fetcher(HERE)

    await fetcher.fetch("GET", server.url)

    assert len(talk.heard) == 2
    for request in talk.heard:
        assert {"cookie", "authorization"}.isdisjoint(fields_of(request))


async def test_a_header_that_cannot_be_sent_is_not_shown(serve):
    server = serve(Saying())

    with pytest.raises(AuthorizationError, match="forbidden characters") as caught:
        await Fetcher(HERE).fetch("GET", server.url, headers=[("a", "secret\r\nb: c")])

    error = caught.value
    assert "secret" not in f"{error!r} {error.cause} {error.__cause__}"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://as.test/a?secret", "http://as.test/a is not asked: it is neither https nor"),
        ("https://me:secret@as.test/", "https://as.test/ is not asked: it has a user name"),
        ("ftp://as.test/?secret", "'ftp://as.test/' is not asked: it is no https URL"),
        ("https://as.test/#secret", "it has a fragment"),
        ("http://localhost@as.test/", "it has a user name"),
        ("http://127.1/", "no host that can be relied on"),
    ],
)
async def test_a_url_is_refused_before_it_is_looked_up(fetcher, names, url, why):
    with pytest.raises(AuthorizationError, match=why) as caught:
        await fetcher().fetch("GET", url)

    assert caught.value.step == "fetch"
    assert names.asked == []
    assert "secret" not in str(caught.value)
