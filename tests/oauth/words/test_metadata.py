from __future__ import annotations

from typing import Any

import pytest

from snodo_actors.oauth.words.metadata import ResourceMetadata, ServerMetadata, read_metadata


def test_what_is_published_is_read() -> None:
    resource = {"resource": "https://a", "authorization_servers": ["https://b"], "other": 1}
    server = {"issuer": "https://b", "token_endpoint": "https://b/t", "scopes_supported": None}

    assert ResourceMetadata(
        resource="https://a", authorization_servers=("https://b",)
    ) == read_metadata(resource, ResourceMetadata)
    assert ServerMetadata(issuer="https://b", token_endpoint="https://b/t") == read_metadata(
        server, ServerMetadata
    )


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ([], "Expected `object`"),
        ({}, "missing required field `resource`"),
        ({"resource": 1}, "Expected `str`, got `int`"),
        ({"resource": "a", "scopes_supported": "b"}, "Expected `array | null`"),
    ],
)
def test_what_is_none_is_explained(document: Any, why: str) -> None:
    said = read_metadata(document, ResourceMetadata)

    assert isinstance(said, str)
    assert why in said
