"""Over HTTP through TLS and proxies: whom a client trusts, and how it says that it does not."""

from __future__ import annotations

import datetime as dt

import pytest
import trustme
from byte_servers import ByteServer
from case_servers import lost
from peers.http_kinds import PYTHON_ONE, PYTHON_TWO, PYTHON_TWO_JSON
from peers.http_kit import HttpPeer, Running, both, closes
from peers.kinds import LATER, MODERN, named
from peers.kit import answers
from proxy_servers import Proxying

YESTERDAY = dt.datetime.now(dt.UTC) - dt.timedelta(days=1)


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    """Who made the certificates, with its own in a file."""
    authority = trustme.CA()
    file = tmp_path_factory.mktemp("tls") / "ca.pem"
    authority.cert_pem.write_to_path(file)
    authority.file = str(file)
    return authority


@pytest.fixture
def secure(request, authority, tmp_path):
    """A server with a good certificate, and one with an expired one."""
    kind, version = request.param
    at = request.getfixturevalue("peers_at") if kind.is_brought else None
    running = []
    for name, until in (("good", None), ("expired", YESTERDAY)):
        cert = tmp_path / f"{name}.pem"
        made = authority.issue_cert("127.0.0.1", not_after=until)
        made.private_key_and_cert_chain_pem.write_to_path(cert)
        running.append(Running(kind, at, tmp_path / f"{name}.facts", TLS_CERT=str(cert)))
    yield lambda place: [HttpPeer(version, one, tag=place) for one in running]
    for one in running:
        one.stop()


@pytest.mark.parametrize(
    "secure", [(PYTHON_TWO, MODERN), (PYTHON_ONE, LATER)], ids=named, indirect=True
)
@both
async def test_whom_a_client_trusts(at, secure, authority, tmp_path):
    good, expired = secure
    client = await at.get(good.connect(ssl=authority.file))
    await answers(at, good, client)
    await closes(at, good, client)

    stranger = tmp_path / f"{at.backend}.pem"
    trustme.CA().cert_pem.write_to_path(stranger)
    await refuses(at, good, "unable to get local issuer certificate", ssl=None)
    await refuses(at, good, "unable to get local issuer certificate", ssl=str(stranger))
    await refuses(at, good, "Hostname mismatch", ssl=authority.file, host="localhost")
    await refuses(at, expired, "certificate has expired", ssl=authority.file)


async def refuses(at, peer, why, *, host="127.0.0.1", **options):
    peer.host = host
    # With a single version of the newest kind nothing is sent to begin with.
    client = await at.outcome(peer.connect(**options))
    error = client
    if not isinstance(client, Exception):
        error = await at.error(client.list_tools())
        await at.get(client.close())
    lost(error)
    assert error.cause[0] == "failed_connect"
    assert error.delivery == "never_sent"
    assert why in str(error.cause[1])
    assert why in error.message


@pytest.fixture
def proxy():
    """A proxy, and what it was asked."""
    proxying = Proxying()
    server = ByteServer(proxying)
    proxying.url = server.url.removesuffix("/mcp")
    yield proxying
    server.close()


@pytest.mark.parametrize(
    "web", [(PYTHON_TWO_JSON, MODERN), (PYTHON_TWO_JSON, LATER)], ids=named, indirect=True
)
@both
async def test_through_a_proxy_that_sees_the_requests(at, web, proxy):
    client = await at.get(web.connect(proxy=proxy.url))
    await answers(at, web, client)
    await at.get(client.close())
    assert all(f" {web.url} HTTP/1.1\r\n".encode() in asked for asked in proxy.asked)
    assert len(proxy.asked) >= len(web.answered("POST")) > 0


@pytest.mark.parametrize("secure", [(PYTHON_TWO, MODERN)], ids=named, indirect=True)
@both
async def test_through_a_tunnel(at, secure, authority, proxy):
    good, _ = secure
    client = await at.get(good.connect(ssl=authority.file, proxy=proxy.url))
    await answers(at, good, client)
    steps = []
    await at.get(client.call_tool("steps", {"count": 3}, progress=steps.append))
    assert len(steps) == 3
    await closes(at, good, client)
    assert {asked.partition(b"\r\n")[0] for asked in proxy.asked} == {
        b"CONNECT 127.0.0.1:%d HTTP/1.1" % good.running.port
    }
