"""The document that a client id metadata URL serves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from snodo_actors.oauth.machines.registration import is_native, refuse_metadata_url


def client_metadata_document(
    url: str,
    *,
    client_name: str,
    redirect_uris: Iterable[str],
    scope: str | None = None,
    client_uri: str | None = None,
    logo_uri: str | None = None,
) -> dict[str, Any]:
    """Build the JSON that has to be served at *url*, which is then the client id (R-135).

    Raises:
        ValueError: *url* cannot be a client id, or there is no redirect URI.
    """
    refused = refuse_metadata_url(url)
    if refused is not None:
        raise ValueError(f"{url!r} cannot be a client id: {refused}")
    uris = list(redirect_uris)
    if not uris:
        raise ValueError("redirect_uris is empty: write where the browser comes back to")
    document = {
        "client_id": url,
        "client_name": client_name,
        "redirect_uris": uris,
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "application_type": "native" if all(map(is_native, uris)) else "web",
    }
    more = {"scope": scope, "client_uri": client_uri, "logo_uri": logo_uri}
    return document | {name: value for name, value in more.items() if value is not None}
