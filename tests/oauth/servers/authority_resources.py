"""Which resources a token is for (RFC 8707)."""

from __future__ import annotations

from authlib.oauth2.rfc6749 import OAuth2Error
from authority_books import Books
from flask import request


class InvalidTarget(OAuth2Error):
    """RFC 8707: the resource is missing, unknown, or not the one consented to."""

    error = "invalid_target"


def resources(books: Books, *, among: list[str] | None = None) -> list[str]:
    """The resources of this request, which have to be *among* those of an earlier one."""
    said = [one for one in request.values.getlist("resource") if one]
    if not said and books.knobs["needs_resource"]:
        raise InvalidTarget("resource is missing")
    if among is not None and not set(said) <= set(among):
        raise InvalidTarget("resource is not the one consented to")
    return said or among or []
