"""An MCP server that refuses every token, and its authorization server, as one small HTTP server.

What each path answers is a row of `answers`, which a test changes: a status and a body, or a
function of the form that came.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qsl, urlencode, urlsplit

Form = dict[str, str]
Answer = tuple[int, Any]

PRM = "/.well-known/oauth-protected-resource/mcp"
ASM = "/.well-known/oauth-authorization-server"
BACK = "http://127.0.0.1:1/callback"
"""A redirect URI for users that are functions: nobody goes there."""


class Authority:
    """Where it is, what it answers, and the forms that were sent to its token endpoint."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = False  # so that all of them are waited for
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = f"{self.origin}/mcp"
        self.forms: list[Form] = []
        self.resource: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": [self.origin],
        }
        self.metadata: dict[str, Any] = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
        }
        self.answers: dict[str, Answer | Callable[[Form], Answer]] = {
            PRM: (200, self.resource),
            ASM: (200, self.metadata),
            "/register": (201, {"client_id": "c"}),
            "/token": self.token,
        }

    def token(self, form: Form) -> Answer:
        """Give the next tokens; how many there were says what they are called."""
        self.forms.append(form)
        number = len(self.forms)
        tokens = {"access_token": f"a{number}", "refresh_token": f"r{number}"}
        return 200, {"token_type": "Bearer", "expires_in": 3600, **tokens}

    def request(self, token: str | None = None, **more: Any) -> dict[str, Any]:
        """Build what a provider is told of a refused *token*."""
        return {"url": self.url, "status": 401, "token": token, **more}

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def agree(url: str) -> str:
    """Be a user who agrees."""
    asked = dict(parse_qsl(urlsplit(url).query))
    return f"{asked['redirect_uri']}?{urlencode({'code': 'c', 'state': asked['state']})}"


def _handler(authority: Authority) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            length = int(self.headers.get("content-length", 0))
            form = dict(parse_qsl(self.rfile.read(length).decode()))
            answer = authority.answers.get(self.path.partition("?")[0], (404, {}))
            status, body = answer(form) if callable(answer) else answer
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET  # noqa: N815  # so http.server calls it

        def log_message(self, *_: object) -> None:
            pass

    return Handler
