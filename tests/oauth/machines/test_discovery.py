from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.discovery import (
    choose_issuer,
    refuse_issuer,
    refuse_resource,
    resource_metadata_urls,
    server_metadata_urls,
    usual_endpoints,
)
from snodo_actors.oauth.words.metadata import ResourceMetadata, ServerMetadata

RESOURCE = ".well-known/oauth-protected-resource"
SERVER = ".well-known/oauth-authorization-server"
OPENID = ".well-known/openid-configuration"


@pytest.mark.parametrize(
    ("server", "named", "urls"),
    [
        (
            "https://mcp.test/mcp",
            None,
            [f"https://mcp.test/{RESOURCE}/mcp", f"https://mcp.test/{RESOURCE}"],
        ),
        (
            "https://mcp.test/a/mcp/?x=1",
            "https://other.test/here",
            [
                "https://other.test/here",
                f"https://mcp.test/{RESOURCE}/a/mcp?x=1",
                f"https://mcp.test/{RESOURCE}",
            ],
        ),
        ("https://mcp.test", None, [f"https://mcp.test/{RESOURCE}"]),
        (
            "https://mcp.test:8443/mcp",
            f"https://mcp.test:8443/{RESOURCE}",
            [f"https://mcp.test:8443/{RESOURCE}", f"https://mcp.test:8443/{RESOURCE}/mcp"],
        ),
    ],
)
def test_where_the_metadata_of_a_server_may_be(
    server: str, named: str | None, urls: list[str]
) -> None:
    assert urls == resource_metadata_urls(server, named)


@pytest.mark.parametrize(
    ("issuer", "urls"),
    [
        ("https://as.test", [f"https://as.test/{SERVER}", f"https://as.test/{OPENID}"]),
        ("https://as.test/", [f"https://as.test/{SERVER}", f"https://as.test/{OPENID}"]),
        (
            "https://as.test/tenant1",
            [
                f"https://as.test/{SERVER}/tenant1",
                f"https://as.test/{OPENID}/tenant1",
                f"https://as.test/tenant1/{OPENID}",
            ],
        ),
    ],
)
def test_where_those_of_an_authorization_server_may_be(issuer: str, urls: list[str]) -> None:
    assert urls == server_metadata_urls(issuer)


@pytest.mark.parametrize(
    ("resource", "why"),
    [
        ("https://mcp.test/mcp", None),
        ("https://mcp.test", None),
        ("https://evil.test/mcp", "they are about 'https://evil.test/mcp'"),
        ("https://mcp.test/other", "not about https://mcp.test/mcp"),
    ],
)
def test_whom_they_may_speak_for(resource: str, why: str | None) -> None:
    said = refuse_resource(ResourceMetadata(resource=resource), "https://mcp.test/mcp")

    assert said is None if why is None else why in f"{said}"


BOTH = ("https://a.test", "https://b.test")


@pytest.mark.parametrize(
    ("servers", "registered", "before", "chosen"),
    [
        (BOTH, None, None, "https://a.test"),
        (BOTH, None, "https://b.test", "https://b.test"),
        (BOTH, None, "https://c.test", "https://a.test"),
        (BOTH, "https://b.test", "https://a.test", "https://b.test"),
        (BOTH, "https://c.test", None, None),
        ((), None, None, None),
    ],
)
def test_which_authorization_server(
    servers: tuple[str, ...], registered: str | None, before: str | None, chosen: str | None
) -> None:
    about = ResourceMetadata(resource="https://mcp.test", authorization_servers=servers)

    assert chosen == choose_issuer(about, registered=registered, before=before)


@pytest.mark.parametrize("other", ["https://as.test/", "https://AS.test", "https://evil.test"])
def test_another_issuer_is_another(other: str) -> None:
    metadata = ServerMetadata(issuer=other, token_endpoint="https://as.test/token")

    assert f"they name the issuer {other!r}" in f"{refuse_issuer(metadata, 'https://as.test')}"
    assert refuse_issuer(metadata, other) is None


def test_before_there_were_metadata() -> None:
    usual = usual_endpoints("https://mcp.test")

    assert (
        usual.authorization_endpoint,
        usual.token_endpoint,
        usual.registration_endpoint,
    ) == (
        "https://mcp.test/authorize",
        "https://mcp.test/token",
        "https://mcp.test/register",
    )
