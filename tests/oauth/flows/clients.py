"""Clients that are known beforehand, one way or the other."""

from __future__ import annotations

from oauth.servers.kit import CALLBACK

from snodo_actors import oauth

DOCUMENT = "https://client.example/oauth/metadata.json"
KNOWN = {
    "client_id": "known",
    "client_secret": "s3cret-of-known",
    "redirect_uris": [CALLBACK],
    "grant_types": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_method": "client_secret_basic",
}


def known(authority) -> oauth.RegisteredClient:
    return oauth.RegisteredClient("known", "s3cret-of-known", issuer=authority.issuer)


def by_document(**more):
    document = oauth.client_metadata_document(
        DOCUMENT, client_name="tests", redirect_uris=[CALLBACK]
    )
    return {"cimd": True, "documents": {DOCUMENT: document}, **more}
