"""The URLs of one authorization server: metadata, endpoints, and what only tests may ask."""

from __future__ import annotations

import time
from typing import Any

from authlib.oauth2.rfc6749 import OAuth2Error
from authority_assertions import EXCHANGE, id_token
from authority_books import USER, Books
from authority_front import credentials
from authority_grants import authorization_server
from flask import Flask, Response, g, jsonify, request
from proofs import BadProof, NeedsNonce, verify

GRANTS = [
    "authorization_code",
    "refresh_token",
    "client_credentials",
    "urn:ietf:params:oauth:grant-type:jwt-bearer",
    EXCHANGE,
]


def application(books: Books) -> Flask:
    """Make the application of one server."""
    app = Flask("authority")
    server = authorization_server(app, books)

    @app.before_request
    def note_and_bend() -> Any:
        g.thumbprint = None
        g.family = None
        g.resources = []
        if request.path.startswith("/__"):
            return None
        g.endpoint = _endpoint(books)
        g.fact = {
            "endpoint": g.endpoint,
            "method": request.method,
            "path": request.path,
            "query": list(request.args.items(multi=True)),
            "form": list(request.form.items(multi=True)),
            "json": request.get_json(silent=True),
            "headers": {name.lower(): value for name, value in request.headers.items()},
            "auth": _authentication(),
            "status": None,
            "at": time.time(),
        }
        books.facts.append(g.fact)
        return _instead(books, g.endpoint)

    @app.after_request
    def note_the_answer(response: Response) -> Response:
        if "fact" in g:
            g.fact["status"] = response.status_code
            if response.is_json and not response.is_streamed:
                g.fact["answer"] = response.get_json(silent=True)
            if response.location:
                g.fact["location"] = response.location
        return response

    # ---- what everybody may ask

    def metadata() -> Any:
        return jsonify(_metadata(books)) if g.endpoint.startswith("metadata") else Response("", 404)

    app.add_url_rule("/.well-known/<path:rest>", "well_known", lambda rest: metadata())
    app.add_url_rule(
        "/<path:before>/.well-known/<path:rest>", "appended", lambda before, rest: metadata()
    )

    @app.get("/authorize", defaults={"tenant": ""})
    @app.get("/<tenant>/authorize")
    def authorize(tenant: str) -> Any:
        with books.lock:
            try:
                grant = server.get_consent_grant(end_user=USER)
                user = USER if books.knobs["consent"] else None
                response = server.create_authorization_response(grant_user=user, grant=grant)
            except OAuth2Error as error:
                return server.handle_error_response(request, error)
            if not books.knobs["consent"]:
                response.location = response.location.replace(
                    "error=access_denied", f"error={books.knobs['denial']}"
                )
            return response

    @app.post("/token", defaults={"tenant": ""})
    @app.post("/<tenant>/token")
    def token(tenant: str) -> Any:
        headers = {}
        with books.lock:
            proofs = request.headers.getlist("dpop") if books.knobs["dpop"] else []
            if books.knobs["dpop_nonce"]:
                headers["DPoP-Nonce"] = books.nonce()
            if proofs:
                nonces = books.nonces if books.knobs["dpop_nonce"] else None
                try:
                    g.thumbprint = verify(
                        proofs, method="POST", url=request.url, once=books.once, nonces=nonces
                    )
                except NeedsNonce:
                    return jsonify(error="use_dpop_nonce"), 400, headers
                except BadProof as error:
                    said = {"error": "invalid_dpop_proof", "error_description": str(error)}
                    return jsonify(said), 400, headers
            response = server.create_token_response()
        response.headers.update(headers)
        return response

    @app.post("/register", defaults={"tenant": ""})
    @app.post("/<tenant>/register")
    def register(tenant: str) -> Any:
        uris = (request.get_json(silent=True) or {}).get("redirect_uris", [])
        bad = [uri for uri in uris if any(part in uri for part in books.knobs["rejects"])]
        if bad:
            said = {"error": "invalid_redirect_uri", "error_description": f"not allowed: {bad[0]}"}
            return jsonify(said), 400
        with books.lock:
            return server.create_endpoint_response("client_registration")

    @app.post("/introspect")
    def introspect() -> Any:
        with books.lock:
            found = books.by_access(request.form["token"])
        if found is None or found.is_expired() or found.is_revoked():
            return jsonify(active=False)
        bound = {"cnf": {"jkt": found.thumbprint}} if found.thumbprint else {}
        return jsonify(
            active=True,
            scope=found.scope,
            client_id=found.client_id,
            aud=found.resources,
            iss=books.issuer,
            sub=found.user,
            **bound,
        )

    @app.get("/jwks")
    def jwks() -> Any:
        return jsonify(keys=[books.key.as_dict(private=False)])

    # ---- what only tests may ask

    @app.post("/__knobs")
    def knobs() -> Any:
        books.turn(request.get_json())
        return jsonify(books.knobs)

    @app.get("/__facts")
    def facts() -> Any:
        return jsonify(books.facts)

    @app.post("/__revoke/<what>")
    def revoke(what: str) -> Any:
        books.revoke(what)
        return jsonify(len(books.tokens))

    @app.post("/__forget")
    def forget() -> Any:
        with books.lock:
            books.clients.clear()
        return jsonify({})

    @app.post("/__id_token/<client_id>")
    def sign_on(client_id: str) -> Any:
        return jsonify(id_token(books, client_id))

    return app


def _endpoint(books: Books) -> str:
    """What a path is for: "metadata" is the one that the knobs say there is."""
    path, tenant = request.path, books.knobs["issuer_path"]
    kinds = {
        f"/.well-known/oauth-authorization-server{tenant}": "oauth",
        f"{tenant}/.well-known/openid-configuration": "openid_appended",
        f"/.well-known/openid-configuration{tenant}": "openid_inserted",
    }
    if path in kinds:
        # Without a path of the issuer the two places of OpenID are one.
        wanted = set(books.knobs["metadata"])
        there = kinds[path] in wanted or (
            not tenant and kinds[path] == "openid_inserted" and "openid_appended" in wanted
        )
        return f"metadata {kinds[path]}" if there else "nothing"
    own = {f"{tenant}/{name}": name for name in ("authorize", "token", "register")}
    return own.get(path) or {"/introspect": "introspect", "/jwks": "jwks"}.get(path, "nothing")


def _authentication() -> dict[str, Any]:
    """How a client said who it is, as it was sent."""
    basic = credentials(request.headers.get("authorization", ""))
    if basic is not None:
        id, secret = basic
        return {"method": "client_secret_basic", "client_id": id, "client_secret": secret}
    form = request.form
    if "client_assertion" in form:
        return {"method": "private_key_jwt", "client_assertion": form["client_assertion"]}
    if "client_secret" in form:
        return {
            "method": "client_secret_post",
            "client_id": form.get("client_id"),
            "client_secret": form["client_secret"],
        }
    return {"method": "none", "client_id": form.get("client_id")}


def _metadata(books: Books) -> dict[str, Any]:
    knobs, base = books.knobs, books.knobs["endpoints_at"] or books.issuer
    found = {
        "issuer": knobs["issuer"] or books.issuer,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "registration_endpoint": f"{base}/register" if knobs["registration"] else None,
        "jwks_uri": f"{books.origin}/jwks",
        "introspection_endpoint": f"{books.origin}/introspect",
        "scopes_supported": knobs["scopes_supported"],
        "response_types_supported": ["code"],
        "grant_types_supported": GRANTS,
        "token_endpoint_auth_methods_supported": knobs["auth_methods"],
        "token_endpoint_auth_signing_alg_values_supported": ["ES256"],
        "code_challenge_methods_supported": knobs["challenge_methods"],
        "client_id_metadata_document_supported": knobs["cimd"] or None,
        "authorization_response_iss_parameter_supported": knobs["iss_supported"],
        "dpop_signing_alg_values_supported": ["ES256"] if knobs["dpop"] else None,
        **knobs["extra"],
    }
    return {name: value for name, value in found.items() if value is not None}


def _instead(books: Books, endpoint: str) -> Any:
    """What comes instead of an answer, if the knobs say so."""
    kind = endpoint.partition(" ")[0]
    how = books.knobs["answers"].get(kind)
    if how is None or how.get("times") == 0:
        return None
    if "times" in how:
        how["times"] -= 1
    time.sleep(how.get("slow", 0))  # seconds
    if how.get("then"):  # only slow
        return None
    body = how.get("text", "")
    if "json" in how:
        return jsonify(how["json"]), how.get("status", 400), how.get("headers", {})
    if "oversized" in how:
        body = '{"x": "' + "x" * how["oversized"] + '"}'
    headers = {"content-type": "application/json", **how.get("headers", {})}
    if "redirect" in how:
        headers["location"] = how["redirect"]
    return Response(body, how.get("status", 302 if "redirect" in how else 200), headers)
