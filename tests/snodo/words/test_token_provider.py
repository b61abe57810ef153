from __future__ import annotations

from typing import Any, ClassVar

import pytest

from snodo_actors.words.token_provider import TokenProvider, read_provider


class Provider:
    def token(self, request):
        return ("token", request)

    def refresh(self, challenge, request):
        return ("refresh", challenge, request)


class Hooked(Provider):
    scheme = "DPoP"
    extensions: ClassVar[dict[str, Any]] = {"a/b": {"c": 1}}

    def authorize(self, token, request):
        return [("authorize", token, request)]

    def answered(self, request, status, headers):
        return ("answered", request, status, headers)


class Module:
    """As a module has them: functions that are given the state."""

    scheme = "dpop"

    @staticmethod
    def token(state, request):
        return ("token", state, request)

    @staticmethod
    def refresh(state, challenge, request):
        return ("refresh", state, challenge, request)

    @staticmethod
    def authorize(state, token, request):
        return ("authorize", state, token, request)

    @staticmethod
    def answered(state, request, status, headers):
        return ("answered", state, request, status, headers)


class TokenOnly:
    token = print


def test_a_provider_comes_with_its_state_or_is_an_object() -> None:
    pair, one = read_provider((Module, "s")), read_provider(Provider())

    assert pair is not None
    assert one is not None
    assert pair.token("r") == ("token", "s", "r")
    assert pair.refresh("c", "r") == ("refresh", "s", "c", "r")
    assert one.token("r") == ("token", "r")
    assert one.refresh("c", "r") == ("refresh", "c", "r")
    assert read_provider(one) is one
    assert read_provider(None) is None


def test_the_hooks_are_optional() -> None:
    one = read_provider(Provider())

    assert one is not None
    assert (one.at_hand, one.authorize, one.answered) == (None, None, None)
    assert (one.scheme, one.extensions) == ("bearer", {})


def test_hooks_come_with_the_state_too() -> None:
    pair, one = read_provider((Module, "s")), read_provider(Hooked())

    assert pair is not None
    assert pair.authorize is not None
    assert pair.answered is not None
    assert pair.authorize("t", {}) == ("authorize", "s", "t", {})
    assert pair.answered({}, 200, {}) == ("answered", "s", {}, 200, {})
    assert one is not None
    assert one.authorize is not None
    assert one.answered is not None
    assert one.authorize("t", {}) == [("authorize", "t", {})]
    assert one.answered({}, 200, {}) == ("answered", {}, 200, {})
    assert (pair.scheme, one.scheme, one.extensions) == ("dpop", "dpop", {"a/b": {"c": 1}})


def with_(**attributes):
    return type("Odd", (Provider,), attributes)()


async def asynchronous(*_args):
    raise NotImplementedError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("must have token", "s3cret"),
        ("must have token", (object(), "s3cret")),
        ("must have refresh", (TokenOnly, "s3cret")),
        ("must have token", (Module,)),
        ("must have authorize", with_(authorize="s3cret")),
        ("must have answered", with_(answered=5)),
        (r"authorize\(\) .* must be a plain function", with_(authorize=asynchronous)),
        (r"answered\(\) .* must be a plain function", with_(answered=asynchronous)),
        (r"at_hand\(\) .* must be a plain function", with_(at_hand=asynchronous)),
        ("scheme must be a string", with_(scheme=None)),
        ("extensions must be a mapping", with_(extensions=["a/b"])),
        (r"extensions\['a/b'\] must be a mapping", with_(extensions={"a/b": True})),
        ("must have strings as keys", with_(extensions={5: {}})),
    ],
)
def test_a_wrong_provider_is_refused_and_not_shown(text, value) -> None:
    with pytest.raises(TypeError, match=text) as caught:
        read_provider(value)
    assert "s3cret" not in str(caught.value)


def test_no_secret_is_shown() -> None:
    assert "s3cret" not in repr(read_provider((Module, "s3cret")))
    assert isinstance(read_provider((Module, "s3cret")), TokenProvider)
