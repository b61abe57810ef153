"""Authorization servers as one program: as many as are asked for, each on a port of its own.

Made with Authlib. The first line it prints is the port to ask for more:

    POST /__new   with knobs as JSON     a new authorization server; {"port": ...}
    POST /__end/<port>                   ends one

and each of them has, beside what belongs to OAuth:

    POST /__knobs                        changes knobs, see `authority_books`
    GET  /__facts                        every request it saw
    POST /__revoke/access | /all         no token is good any more
    POST /__forget                       no client is registered any more
    POST /__id_token/<client id>         what a single sign-on gave a client

The program ends with its stdin. Users consent at once.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from typing import Any

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"  # loopback, without TLS

from authority_app import application
from authority_books import Books
from flask import Flask, jsonify, request
from werkzeug.serving import BaseWSGIServer, make_server

HOST = "127.0.0.1"


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    running: dict[int, BaseWSGIServer] = {}
    front = Flask("front")

    @front.post("/__new")
    def new() -> Any:
        books = Books(request.get_json(), "")
        server = serve(application(books))
        books.origin = f"http://{HOST}:{server.port}"
        running[server.port] = server
        return jsonify(port=server.port)

    @front.post("/__end/<int:port>")
    def end(port: int) -> Any:
        server = running.pop(port)
        server.shutdown()
        server.server_close()
        return jsonify(ended=port)

    print("PORT", serve(front).port, flush=True)
    sys.stdin.read()


def serve(app: Flask) -> BaseWSGIServer:
    server = make_server(HOST, 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    return server


if __name__ == "__main__":
    main()
