"""What stands before a protected MCP server: its metadata, and the check of every token.

ASGI, written by hand, so that what is right and what is wrong is said here and nowhere else.
"""

from __future__ import annotations

import copy
import json
import secrets
from typing import Any

import httpx
from proofs import BadProof, NeedsNonce, verify

KNOBS: dict[str, Any] = {
    "authorities": [],  # issuers, as the metadata say them
    "introspect": None,  # where tokens are checked; null: at the first authority's origin
    # -- metadata
    "metadata": ["path"],  # where they are: "path", "root", "custom"
    "says": "path",  # which of them a challenge names; null: none; or a URL
    "resource": "exact",  # said in them; "parent" is the origin; or a text
    "scopes_supported": None,
    "extra": {},  # fields over all others; null leaves one out
    "answer": None,  # {"status", "text", "headers"} instead of the metadata
    # -- tokens
    "scheme": "Bearer",  # or "DPoP"
    "dpop_nonce": False,
    "challenge": "",  # more of a 401's challenge: 'scope="a b"'
    "challenges": None,  # a 401's WWW-Authenticate headers, all of them, over all else
    "open": [],  # JSON-RPC methods that need no token
    "needs": {},  # the scope that a tool needs
    "asks_for": {},  # ... and the one that the refusal names, if it is another
    "never_enough": [],  # tools that are refused with any token
    "forbidden": [],  # tools that are refused without a word about scopes
    "any_token": False,  # whatever token comes is good
}


class Gate:
    """One protected server."""

    def __init__(self, app: Any, knobs: dict[str, Any], http: httpx.AsyncClient) -> None:
        self.app = app
        self.http = http
        self.origin = ""
        self.knobs: dict[str, Any] = copy.deepcopy(KNOBS)
        self.facts: list[dict[str, Any]] = []
        self.seen: set[str] = set()
        self.nonces: set[str] = set()
        self.turn(knobs)

    def turn(self, knobs: dict[str, Any]) -> None:
        unknown = set(knobs) - set(KNOBS)
        if unknown:
            raise ValueError(f"there are no such knobs: {sorted(unknown)}")
        self.knobs = {**self.knobs, **knobs}

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    @property
    def identifier(self) -> str:
        known = {"exact": self.url, "parent": self.origin}
        return known.get(self.knobs["resource"], self.knobs["resource"])

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = scope["path"]
        if path == "/__knobs":
            self.turn(json.loads(await _body(receive)))
            await _answer(send, 200, self.knobs)
        elif path == "/__facts":
            await _answer(send, 200, self.facts)
        elif path == "/mcp":
            await self._protected(scope, receive, send)
        else:
            await self._metadata(path, scope, send)

    async def _metadata(self, path: str, scope: Any, send: Any) -> None:
        places = {
            "/.well-known/oauth-protected-resource/mcp": "path",
            "/.well-known/oauth-protected-resource": "root",
            "/custom/metadata": "custom",
        }
        place, knobs = places.get(path, "nothing"), self.knobs
        there = place in knobs["metadata"]
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"]]
        fact = {"method": scope["method"], "path": path, "place": place, "headers": dict(headers)}
        canned = knobs["answer"]
        status = canned.get("status", 200) if there and canned else 200 if there else 404
        self.facts.append({**fact, "status": status, "tool": None, "rpc": None})
        if there and canned:
            more = [(k.encode(), v.encode()) for k, v in canned.get("headers", {}).items()]
            await _answer(send, status, canned.get("text", ""), more)
        elif there:
            said = {
                "resource": self.identifier,
                "authorization_servers": knobs["authorities"],
                "scopes_supported": knobs["scopes_supported"],
                "bearer_methods_supported": ["header"],
                **knobs["extra"],
            }
            await _answer(send, 200, {k: v for k, v in said.items() if v is not None})
        else:
            await _answer(send, 404, "")

    # ---- the check of a token

    async def _protected(self, scope: Any, receive: Any, send: Any) -> None:
        body = await _body(receive) if scope["method"] == "POST" else b""
        message = json.loads(body) if body else {}
        rpc = message.get("method") if isinstance(message, dict) else None
        tool = (message.get("params") or {}).get("name") if rpc == "tools/call" else None
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"]]
        fact = {
            "method": scope["method"],
            "path": scope["path"],
            "query": scope["query_string"].decode(),
            "headers": dict(headers),
            "rpc": rpc,
            "tool": tool,
            "message": message,
            "place": None,
            "token": None,
            "status": None,
        }
        self.facts.append(fact)

        async def noted(event: Any) -> None:
            if event["type"] == "http.response.start":
                fact["status"] = event["status"]
                if self.knobs["dpop_nonce"] and fact["token"]:
                    event["headers"] = [*event["headers"], (b"dpop-nonce", self._nonce())]
            await send(event)

        refused = None if rpc in self.knobs["open"] else await self._refusal(fact, scope, headers)
        if refused is not None:
            status, challenges = refused
            more = [(b"www-authenticate", one.encode()) for one in challenges]
            await _answer(noted, status, "", more)
        else:
            await self.app(scope, _again(body, receive), noted)

    async def _refusal(
        self, fact: Any, scope: Any, headers: list[tuple[str, str]]
    ) -> tuple[int, list[str]] | None:
        """What a request is refused with, or None."""
        knobs = self.knobs
        scheme, _, token = dict(headers).get("authorization", "").partition(" ")
        fact["token"] = token or None
        if not token:
            return self._challenge()
        if scheme.lower() != knobs["scheme"].lower():
            return self._challenge('error="invalid_token", error_description="another scheme"')
        if knobs["any_token"]:
            return None
        claims = await self._introspected(token)
        fact["claims"] = claims
        if not claims.get("active") or self.identifier not in claims.get("aud", ()):
            return self._challenge('error="invalid_token", error_description="not good here"')
        if knobs["scheme"] == "DPoP":
            proofs = [value for name, value in headers if name == "dpop"]
            try:
                thumbprint = verify(
                    proofs,
                    method=scope["method"],
                    url=self.url,
                    once=self._once,
                    access_token=token,
                    nonces=self.nonces if knobs["dpop_nonce"] else None,
                )
            except NeedsNonce:
                return self._challenge('error="use_dpop_nonce"')
            except BadProof as error:
                fact["bad_proof"] = str(error)
                return self._challenge('error="invalid_dpop_proof"')
            if thumbprint != claims.get("cnf", {}).get("jkt"):
                fact["bad_proof"] = "another key"
                return self._challenge('error="invalid_token"')
        if fact["tool"] in knobs["forbidden"]:
            return 403, []
        needed = knobs["needs"].get(fact["tool"])
        enough = needed is None or set(needed.split()) <= set(claims.get("scope", "").split())
        if enough and fact["tool"] not in knobs["never_enough"]:
            return None
        asked = knobs["asks_for"].get(fact["tool"], needed)
        _, [challenge] = self._challenge(f'error="insufficient_scope", scope="{asked}"', "")
        return 403, [challenge]

    def _challenge(self, error: str = "", more: str | None = None) -> tuple[int, list[str]]:
        if self.knobs["challenges"] is not None:
            return 401, self.knobs["challenges"]
        said = self.knobs["says"]
        places = {
            "path": f"{self.origin}/.well-known/oauth-protected-resource/mcp",
            "root": f"{self.origin}/.well-known/oauth-protected-resource",
            "custom": f"{self.origin}/custom/metadata",
        }
        where = f'resource_metadata="{places.get(said, said)}"' if said else ""
        parts = [error, where, self.knobs["challenge"] if more is None else more]
        rest = ", ".join(part for part in parts if part)
        return 401, [f"{self.knobs['scheme']} {rest}".strip()]

    async def _introspected(self, token: str) -> dict[str, Any]:
        knobs = self.knobs
        at = knobs["introspect"]
        if at is None:
            at = [str(httpx.URL(one).join("/introspect")) for one in knobs["authorities"]]
        for url in at[:1]:
            return (await self.http.post(url, data={"token": token})).json()
        return {}

    def _once(self, id: str) -> bool:
        is_new = id not in self.seen
        self.seen.add(id)
        return is_new

    def _nonce(self) -> bytes:
        nonce = secrets.token_urlsafe(12)
        self.nonces.add(nonce)
        return nonce.encode()


async def _body(receive: Any) -> bytes:
    body = b""
    while True:
        event = await receive()
        body += event.get("body", b"")
        if not event.get("more_body"):
            return body


def _again(body: bytes, receive: Any) -> Any:
    """Say a body that was read once more, and then what comes after it."""
    left = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return left.pop() if left else await receive()

    return again


async def _answer(send: Any, status: int, body: Any, headers: Any = ()) -> None:
    text = body if isinstance(body, str) else json.dumps(body)
    kind = (b"content-type", b"application/json")
    await send({"type": "http.response.start", "status": status, "headers": [kind, *headers]})
    await send({"type": "http.response.body", "body": text.encode()})
