"""URLs that servers name: which are asked, which are shown to a user, and which are neither."""

from __future__ import annotations

import pytest
from case_servers import SLOW, took
from oauth.flows.ways import code, denied, on_both, on_one, untouched, works
from oauth.servers.kit import User

HOSTILE = [
    "http://169.254.169.254/latest/meta-data",
    "https://169.254.169.254/",
    "https://[fe80::1]/",
    "https://[::ffff:169.254.169.254]/",
    "https://10.0.0.1/",
    "https://192.168.1.1/",
    "https://172.16.0.1/",
    "https://100.64.0.1/",
    "https://[fd00::1]/",
    "https://0.0.0.0/",
    "https://224.0.0.1/",
    "https://2852039166/",  # 169.254.169.254 as one number
    "https://0xa9.0xfe.0xa9.0xfe/",
    "http://93.184.215.14/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "javascript:alert(1)",
    "data:application/json,{}",
    "gopher://127.0.0.1/",
    "//127.0.0.1/metadata",
    "/metadata",
    "https://",
    "https://someone:secret@127.0.0.1/",
    "https://127.0.0.1:99999/",
    "http://127.0.0.1:1 /",
]


@pytest.mark.parametrize("url", HOSTILE)
@on_one
async def test_metadata_at_a_hostile_url_are_not_asked_for(at, protect, url):
    authority, resource = protect(says=url)
    user = User()
    with took(below=5):
        await denied(at, resource, code(user), "fetch", "discovery")
    untouched(authority, user)


@pytest.mark.parametrize("url", HOSTILE[::2])
@on_one
async def test_an_authorization_server_at_a_hostile_url_is_not_asked(at, resource_of, url):
    resource = resource_of(url, introspect=[])
    user = User()
    with took(below=5):
        await denied(at, resource, code(user), "fetch", "discovery")
    assert user.visits == []


@pytest.mark.parametrize("url", [*HOSTILE[1::4], 7])
@pytest.mark.parametrize("endpoint", ["token_endpoint", "registration_endpoint"])
@on_one
async def test_an_endpoint_at_a_hostile_url_is_not_asked(at, protect, endpoint, url):
    authority, resource = protect({"extra": {endpoint: url}})
    with took(below=5):
        await denied(at, resource, code(User()), "fetch", "discovery", "registration", "token")
    assert authority.tokens() == []


SHOWN = [
    "javascript:alert(1)",
    "JavaScript:alert(1)",
    " javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "http://app.example/authorize",
    "http://10.0.0.1/authorize",
    "ms-settings:",
    "https://someone@app.example/authorize",
    "https://app.example/authorize#part",
    "https://app.example/\r\nauthorize",
    "https:///authorize",
    "-https://app.example/",
    "/authorize",
    "",
    7,
]


@pytest.mark.parametrize("url", SHOWN)
@on_one
async def test_a_url_that_is_none_for_a_browser_is_not_shown(at, protect, url):
    authority, resource = protect({"extra": {"authorization_endpoint": url}})
    user = User()
    await denied(at, resource, code(user), "discovery", "authorization", "user", "fetch")
    assert (user.visits, authority.facts("token")) == ([], [])


@on_both
async def test_a_query_that_an_endpoint_has_is_kept(at, protect):
    authority, resource = protect()
    endpoint = f"{authority.issuer}/authorize?audience=a%26b"
    authority.turn(extra={"authorization_endpoint": endpoint})
    await works(at, resource, code(User()))
    [asked] = authority.facts("authorize")
    assert asked.query("audience") == "a&b"
    assert asked.query("response_type") == "code"


@on_one
async def test_link_local_addresses_are_never_asked(at, protect):
    _, resource = protect({"extra": {"token_endpoint": "https://169.254.169.254/token"}})
    provider = code(User(), allow_private_networks=True)
    await denied(at, resource, provider, "fetch", "discovery", "token")


# ---- redirects


@pytest.mark.parametrize(
    ("endpoint", "status"),
    [
        *(("token", status) for status in (301, 302, 303, 307, 308)),
        ("register", 307),
        ("register", 308),
        ("metadata", 301),
        ("metadata", 302),
    ],
)
@on_one
async def test_a_redirect_to_another_server_is_not_followed(
    at, authority_of, resource_of, endpoint, status
):
    other = authority_of()
    authority = authority_of(
        answers={endpoint: {"status": status, "redirect": f"{other.origin}/token"}}
    )
    resource = resource_of(authority)
    await denied(at, resource, code(User()), "fetch", "discovery", "registration", "token")
    assert other.facts() == []
    assert len(authority.facts(endpoint)) <= 3


@on_one
async def test_a_redirect_of_the_metadata_to_another_server_is_not_followed(
    at, authority_of, resource_of
):
    other = authority_of()
    redirect = {"status": 302, "headers": {"location": f"{other.origin}/metadata"}}
    resource = resource_of(authority_of(), answer=redirect)
    await denied(at, resource, code(User()), "fetch")
    assert other.facts() == []


@on_one
async def test_no_form_is_sent_again_where_a_redirect_says(at, protect):
    authority, resource = protect({"answers": {"token": {"status": 307, "redirect": "/elsewhere"}}})
    await denied(at, resource, code(User()), "fetch", "token")
    assert "/elsewhere" not in authority.paths()


# ---- limits


@pytest.mark.parametrize("endpoint", ["metadata", "register", "token"])
@pytest.mark.parametrize("how", [{"oversized": 3_000_000}, {"slow": 4}], ids=str)
@on_one
async def test_an_answer_has_a_size_and_a_time(at, protect, endpoint, how):
    _, resource = protect({"answers": {endpoint: how}})
    with took(below=3.5):
        await denied(
            at,
            resource,
            code(User(), timeout=0.5 * SLOW),
            "fetch",
            "discovery",
            endpoint_step(endpoint),
        )


def endpoint_step(endpoint):
    return {"metadata": "discovery", "register": "registration", "token": "token"}[endpoint]
