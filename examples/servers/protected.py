"""An MCP server behind OAuth, with an authorization server of its own, both by the official SDK.

    python protected.py            prints its port, and ends when its stdin does

Whoever comes to `/authorize` has agreed: there is nobody to ask. Access tokens live for 5 seconds.
"""

from __future__ import annotations

import logging
import secrets
import socket
import sys
import time

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

SCOPES = ["notes"]
LIFETIME = 5


class Authority(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Clients, codes and tokens, in memory."""

    def __init__(self, issuer: str) -> None:
        self.issuer = issuer
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refresh_tokens: dict[str, RefreshToken] = {}
        self.access_tokens: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        """Find a client."""
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        """Take any client."""
        self.clients[client_info.client_id or ""] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        """Agree at once."""
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or SCOPES,
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        back = str(params.redirect_uri)
        return construct_redirect_uri(back, code=code.code, state=params.state, iss=self.issuer)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        """Find a code, which is good once."""
        return self.codes.pop(authorization_code, None)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        """Issue the first tokens."""
        return self._issue(client, authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        """Find a refresh token, which is good once."""
        return self.refresh_tokens.pop(refresh_token, None)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        """Issue the next tokens."""
        print(f"renewed a token of {client.client_name}", file=sys.stderr, flush=True)
        return self._issue(client, scopes, None)

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Find an access token that has not ended."""
        found = self.access_tokens.get(token)
        return found if found and (found.expires_at or 0) > time.time() else None

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        """Forget a token."""
        self.access_tokens.pop(token.token, None)
        self.refresh_tokens.pop(token.token, None)

    def _issue(
        self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None
    ) -> OAuthToken:
        who = client.client_id or ""
        access = AccessToken(
            token=secrets.token_urlsafe(32),
            client_id=who,
            scopes=scopes,
            expires_at=int(time.time()) + LIFETIME,
            resource=resource,
        )
        refresh = RefreshToken(token=secrets.token_urlsafe(32), client_id=who, scopes=scopes)
        self.access_tokens[access.token] = access
        self.refresh_tokens[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token,
            token_type="Bearer",
            expires_in=LIFETIME,
            scope=" ".join(scopes),
            refresh_token=refresh.token,
        )


def build(url: str) -> MCPServer:
    """Make the server that is reached at *url*."""
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(url),
        resource_server_url=AnyHttpUrl(f"{url}/mcp"),
        required_scopes=SCOPES,
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=SCOPES, default_scopes=SCOPES
        ),
        validate_token_resource=False,
    )
    authority = Authority(str(settings.issuer_url))
    server = MCPServer("protected", auth=settings, auth_server_provider=authority)

    @server.tool()
    def note(text: str) -> str:
        """Take a note."""
        return f"noted: {text}"

    return server


async def main() -> None:
    """Serve until stdin ends."""
    logging.getLogger("mcp").setLevel(logging.WARNING)
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    config = uvicorn.Config(
        build(url).streamable_http_app(), log_level="critical", timeout_graceful_shutdown=1
    )
    http = uvicorn.Server(config)
    print(listener.getsockname()[1], flush=True)

    async def stop_at_the_end_of_stdin() -> None:
        await anyio.to_thread.run_sync(sys.stdin.read, abandon_on_cancel=True)
        http.should_exit = True

    async with anyio.create_task_group() as group:
        group.start_soon(stop_at_the_end_of_stdin)
        await http.serve(sockets=[listener])
        group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main)
