"""The servers of others over HTTP: how each is run, and what of the protocol it has."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from peers.install import SCRIPTS
from peers.kinds import EVERYTHING, FIRST, LATER, MODERN, OLDER, VERSIONS, Kind


@dataclass(frozen=True)
class HttpKind(Kind):
    """One server over HTTP."""

    streams: bool = True
    """Answers are streams where more than the result has to be said: progress, questions."""
    sessions: bool = True
    """The older versions have sessions, in which a server may ask and be told."""
    is_brought: bool = True
    """It has to be installed first."""
    asks_outside: bool = False
    """Some questions come on the standing stream of a session, not on that of the call."""


def _two(*how: str):
    return lambda _: [sys.executable, SCRIPTS / "python_two.py", "http", *how]


def _one(*how: str):
    return lambda at: [at.python, SCRIPTS / "python_one.py", "http", *how]


def _fast(*how: str):
    return lambda at: [at.fastmcp, SCRIPTS / "fastmcp_four.py", "http", *how]


def _node(*what: str):
    return lambda at: [
        at.node,
        "--import",
        at.script("over_http.mjs"),
        at.script(what[0]),
        *what[1:],
    ]


def _everything(at):
    script = at.module("@modelcontextprotocol/server-everything/dist/index.js")
    return [at.node, "--import", at.script("over_http.mjs"), script, "streamableHttp"]


PYTHON_TWO = HttpKind("python-2", VERSIONS, _two(), is_brought=False)
PYTHON_TWO_JSON = HttpKind("python-2-json", VERSIONS, _two("json"), streams=False, is_brought=False)
PYTHON_ONE = HttpKind("python-1", OLDER, _one(), asks_outside=True)
PYTHON_ONE_JSON = HttpKind("python-1-json", OLDER, _one("json"), streams=False)
PYTHON_ONE_STATELESS = HttpKind("python-1-stateless", OLDER, _one("stateless"), sessions=False)
PYTHON_ONE_PLAIN = HttpKind(
    "python-1-stateless-json", OLDER, _one("stateless", "json"), streams=False, sessions=False
)
FASTMCP = HttpKind("fastmcp-4", VERSIONS, _fast(), listens=False)
FASTMCP_JSON = HttpKind("fastmcp-4-json", VERSIONS, _fast("json"), listens=False, streams=False)
TYPESCRIPT_TWO = HttpKind(
    "typescript-2", VERSIONS, _node("typescript_two.mjs", "http"), sessions=False
)
TYPESCRIPT_TWO_SSE = HttpKind(
    "typescript-2-sse", VERSIONS, _node("typescript_two.mjs", "http", "sse"), sessions=False
)
MODERN_ONLY = HttpKind(
    "typescript-2-modern-only",
    (MODERN,),
    _node("typescript_two.mjs", "http", "reject"),
    sessions=False,
)
TYPESCRIPT_ONE = HttpKind("everything", OLDER, _everything, EVERYTHING, asks_outside=True)

KINDS = (
    PYTHON_TWO,
    PYTHON_TWO_JSON,
    PYTHON_ONE,
    PYTHON_ONE_JSON,
    PYTHON_ONE_STATELESS,
    PYTHON_ONE_PLAIN,
    FASTMCP,
    FASTMCP_JSON,
    TYPESCRIPT_TWO,
    TYPESCRIPT_TWO_SSE,
    TYPESCRIPT_ONE,
)
PYTHON = (PYTHON_TWO, PYTHON_ONE)
MAIN = (PYTHON_TWO, PYTHON_ONE, TYPESCRIPT_TWO, TYPESCRIPT_ONE)
"""One of each program, in its usual way of answering."""

EACH_VERSION = [(kind, version) for kind in KINDS for version in kind.versions]
EACH_ERA = [pair for pair in EACH_VERSION if pair[1] != FIRST]
MAIN_ERAS = [pair for pair in EACH_ERA if pair[0] in MAIN]
NEWEST = [(kind, kind.versions[0]) for kind in MAIN]
WITH_STREAMS = [(kind, MODERN) for kind in MAIN if MODERN in kind.versions]
IN_SESSIONS = [(kind, LATER) for kind in KINDS if kind.sessions]
