from __future__ import annotations

import ssl

import pytest

from snodo_actors.words.http_options import OWNED, HttpOptions
from snodo_actors.words.tls_options import TlsOptions
from snodo_actors.words.token_provider import TokenProvider
from snodo_actors.words.types import INHERIT


class Provider:
    def token(self, request):
        return ("token", request)

    def refresh(self, challenge, request):
        return ("refresh", challenge, request)


class Module:
    @staticmethod
    def token(state, request):
        return ("token", state, request)

    @staticmethod
    def refresh(state, challenge, request):
        return ("refresh", state, challenge, request)


class Mailbox:
    def send(self, message):
        raise NotImplementedError


MAILBOX = Mailbox()


class Transport:
    async def handle_async_request(self, request):
        raise NotImplementedError


class CallableTransport(Transport):
    def __call__(self):
        raise NotImplementedError


def test_defaults() -> None:
    options = HttpOptions()

    assert (options.headers, options.token_provider, options.ssl) == ((), None, None)
    assert options.proxy is INHERIT
    assert (options.connect_timeout, options.max_response_bytes) == (INHERIT, 16_777_216)
    assert (options.pool_size, options.pool_idle_timeout, options.pool_max_requests) == (
        4,
        30.0,
        100,
    )
    assert options.transport is None


@pytest.mark.parametrize(
    ("taken", "given"),
    [
        (
            {"headers": (("Authorization", "Bearer x"), ("x-a", ""))},
            {"headers": [("Authorization", "Bearer x"), ("x-a", "")]},
        ),
        ({"headers": (("x-a", "ü"),)}, {"headers": {"x-a": "ü"}}),
        ({"connect_timeout": None}, {"connect_timeout": None}),
        ({"connect_timeout": 0.5}, {"connect_timeout": 0.5}),
        ({"pool_idle_timeout": None}, {"pool_idle_timeout": None}),
        ({"pool_size": 1, "pool_max_requests": 1}, {"pool_size": 1, "pool_max_requests": 1}),
        ({"max_response_bytes": 1}, {"max_response_bytes": 1}),
        ({"proxy": None}, {"proxy": None}),
        ({"server_stream": True}, {"server_stream": True}),
        ({"server_stream": MAILBOX}, {"server_stream": MAILBOX}),
        ({"proxy": "http://p.test:3128"}, {"proxy": "http://p.test:3128"}),
        ({"proxy": "HTTPS://u:p@p.test"}, {"proxy": "HTTPS://u:p@p.test"}),
        ({"ssl": TlsOptions(cafile="ca.pem")}, {"ssl": "ca.pem"}),
        ({"ssl": TlsOptions(verify=False)}, {"ssl": {"verify": False}}),
        ({"transport": print}, {"transport": print}),
        ({"transport": Transport}, {"transport": Transport}),
    ],
)
def test_what_is_given_is_taken(taken, given) -> None:
    options = HttpOptions(**given)

    assert {name: getattr(options, name) for name in taken} == taken
    assert options.header_pairs == taken.get("headers", ())


def test_a_tls_context_is_taken_as_it_is() -> None:
    it = ssl.create_default_context()

    assert HttpOptions(ssl=it).ssl is it


def test_a_provider_is_read_and_never_shown() -> None:
    options = HttpOptions(token_provider=(Module, "s3cret"))

    assert isinstance(options.token_provider, TokenProvider)
    assert "s3cret" not in repr(options)


@pytest.mark.parametrize(
    "name",
    [*sorted(OWNED), "Host", "CONTENT-TYPE", "Mcp-Param-Region", "mcp-param-"],
)
def test_the_transport_s_own_headers_are_refused(name) -> None:
    with pytest.raises(ValueError, match=r"sets the header .* itself"):
        HttpOptions(headers=[(name, "x")])


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (TypeError, "headers must be a mapping or", {"headers": None}),
        (TypeError, "headers must be a mapping or", {"headers": "a: b"}),
        (TypeError, "headers must be a mapping or", {"headers": [("a", "b", "c")]}),
        (TypeError, "headers must be strings", {"headers": [("a", 1)]}),
        (TypeError, "headers must be strings", {"headers": [(b"a", "b")]}),
        (ValueError, "cannot be the name", {"headers": [("", "x")]}),
        (ValueError, "cannot be the name", {"headers": [("a:", "x")]}),
        (ValueError, "cannot be the name", {"headers": [("a b", "x")]}),
        (ValueError, "cannot be the name", {"headers": [("a\r\n", "x")]}),
        (ValueError, "cannot be the name", {"headers": [("a\0", "x")]}),
        (ValueError, "cannot be the name", {"headers": [("é", "x")]}),
        (ValueError, "in its value", {"headers": [("a", "x\r")]}),
        (ValueError, "in its value", {"headers": [("a", "x\ny")]}),
        (ValueError, "in its value", {"headers": [("a", "\0")]}),
        (ValueError, "in its value", {"headers": [("a", "\ud800")]}),
        (TypeError, "ssl must be an ssl.SSLContext", {"ssl": False}),
        (TypeError, "ssl must be an ssl.SSLContext", {"ssl": True}),
        (TypeError, "server_stream must be true, false, or the ref", {"server_stream": "yes"}),
        (TypeError, "server_stream must be true, false, or the ref", {"server_stream": None}),
        (TypeError, "proxy must be a URL, or None", {"proxy": 5}),
        (TypeError, "proxy must be a URL, or None", {"proxy": b"http://p.test"}),
        (ValueError, "proxy must be a URL: write", {"proxy": ""}),
        (ValueError, "proxy must be a URL: write", {"proxy": "p.test:3128"}),
        (ValueError, "proxy must be a URL: write", {"proxy": "http:///"}),
        (ValueError, "an http or https URL, not socks5: for", {"proxy": "socks5://p.test"}),
        (TypeError, "transport must be a function that", {"transport": Transport()}),
        (TypeError, "transport must be a function that", {"transport": CallableTransport()}),
        (TypeError, "transport must be a function that", {"transport": "httpx"}),
        (ValueError, "makes connections of its own", {"transport": print, "ssl": "ca.pem"}),
        (ValueError, "makes connections of its own", {"transport": print, "proxy": None}),
        (ValueError, "connect_timeout must be", {"connect_timeout": 0}),
        (ValueError, "max_response_bytes must be", {"max_response_bytes": 0}),
        (ValueError, "pool_size must be", {"pool_size": 0}),
        (ValueError, "pool_idle_timeout must be", {"pool_idle_timeout": 0}),
        (TypeError, "pool_max_requests must be", {"pool_max_requests": 1.0}),
    ],
)
def test_a_wrong_option_is_refused(error, text, options) -> None:
    with pytest.raises(error, match=text):
        HttpOptions(**options)


@pytest.mark.parametrize("proxy", ["socks5://u:secret@p.test", "u:secret@p.test"])
def test_the_password_of_a_proxy_is_never_shown(proxy) -> None:
    with pytest.raises(ValueError) as caught:
        HttpOptions(proxy=proxy)
    assert "secret" not in str(caught.value)
    assert "secret" not in repr(HttpOptions(proxy="http://u:secret@p.test"))


def test_authorization_and_a_provider_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="token_provider sets the header 'authorization'"):
        HttpOptions(headers=[("Authorization", "x")], token_provider=Provider())


@pytest.mark.parametrize(
    "headers", [[("authorization", "secret\n")], [("a b", "secret")], [("host", "secret")]]
)
def test_a_value_is_never_shown(headers) -> None:
    with pytest.raises(ValueError) as caught:
        HttpOptions(headers=headers)
    assert "secret" not in str(caught.value)
