"""The servers of others, and what to ask of each in its own words."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from peers.install import SCRIPTS

MODERN, LATER, FIRST = VERSIONS = ("2026-07-28", "2025-11-25", "2025-06-18")
OLDER = (LATER, FIRST)

Ask = tuple[str, dict[str, Any]]
"""A tool and its arguments."""


@dataclass(frozen=True)
class Words:
    """What to ask, and what comes; the same for all servers that are written here."""

    sum: Ask = ("add", {"a": 1, "b": 2})
    total: str = "3"
    structured: Ask = ("add", {"a": 1, "b": 2})
    structure: Any = None
    fails: Ask = ("fails", {})
    steps: Ask = ("steps", {"count": 3})
    slow: Ask = ("slow", {})
    """Goes on until it is cancelled."""
    form: Ask = ("ask_form", {})
    url: Ask = ("ask_url", {})
    sampling: Ask = ("ask_model", {})
    roots: Ask = ("ask_roots", {})
    named: str = "form: Bo"
    opened: str = "url: accept"
    resource: tuple[str, str] = ("notes://today", "today")
    template: tuple[str, str, str] = ("notes://{name}/one", "notes://ann/one", "of ann")
    prompt: Ask = ("review", {"code": "x"})
    prompted: str = "Review: x"
    completion: tuple[str, str, str] = ("review", "code", "a")
    completed: tuple[str, ...] = ("a0", "a1")
    server: str = "peer"
    instructions: str = "Use it."


OURS = Words(structure={"result": 3})
EVERYTHING = replace(
    OURS,
    sum=("get-sum", {"a": 1, "b": 2}),
    total="The sum of 1 and 2 is 3.",
    structured=("get-structured-content", {"location": "Chicago"}),
    structure={"temperature": 36, "conditions": "Light rain / drizzle", "humidity": 82},
    fails=("get-resource-reference", {"resourceType": "Text", "resourceId": -1}),
    steps=("trigger-long-running-operation", {"duration": 0.03, "steps": 3}),
    slow=("trigger-long-running-operation", {"duration": 60, "steps": 6000}),
    form=("trigger-elicitation-request", {}),
    url=("trigger-url-elicitation", {"url": "https://example.test/"}),
    sampling=("trigger-sampling-request", {"prompt": "A word?"}),
    roots=("get-roots-list", {}),
    named="- Name: Bo",
    opened="URL: https://example.test/",
    resource=("demo://resource/static/document/startup.md", "# Everything Server"),
    template=(
        "demo://resource/dynamic/text/{resourceId}",
        "demo://resource/dynamic/text/7",
        "Resource 7: This is a plaintext resource",
    ),
    prompt=("args-prompt", {"city": "Rome"}),
    prompted="What's weather in Rome?",
    completion=("completable-prompt", "department", "S"),
    completed=("Sales", "Support"),
    server="mcp-servers/everything",
    instructions="# Everything Server",
)


@dataclass(frozen=True)
class Kind:
    """One server: the versions it speaks, newest first, and how it is run."""

    name: str
    versions: tuple[str, ...]
    command: Callable[[Any], list[Any]]
    words: Words = OURS
    listens: bool = True
    """In the newest version it has streams of events."""

    def __str__(self) -> str:
        return self.name


PYTHON_TWO = Kind("python-2", VERSIONS, lambda _: [sys.executable, SCRIPTS / "python_two.py"])
PYTHON_ONE = Kind("python-1", OLDER, lambda at: [at.python, SCRIPTS / "python_one.py"])
FASTMCP = Kind(
    "fastmcp-4",
    VERSIONS,
    lambda at: [at.fastmcp, SCRIPTS / "fastmcp_four.py"],
    listens=False,
)
TYPESCRIPT_TWO = Kind(
    "typescript-2", VERSIONS, lambda at: [at.node, at.script("typescript_two.mjs")]
)
MODERN_ONLY = Kind(
    "typescript-2-modern-only",
    (MODERN,),
    lambda at: [at.node, at.script("typescript_two.mjs"), "reject"],
)
TYPESCRIPT_ONE = Kind(
    "everything",
    OLDER,
    lambda at: [
        at.node,
        at.module("@modelcontextprotocol/server-everything/dist/index.js"),
        "stdio",
    ],
    EVERYTHING,
)
KINDS = (PYTHON_TWO, PYTHON_ONE, FASTMCP, TYPESCRIPT_TWO, TYPESCRIPT_ONE)

EACH_VERSION = [(kind, version) for kind in KINDS for version in kind.versions]
NEWEST = [(kind, kind.versions[0]) for kind in KINDS]
EACH_ERA = [pair for pair in EACH_VERSION if pair[1] != FIRST]
WITH_STREAMS = [pair for pair in EACH_VERSION if pair[1] == MODERN and pair[0].listens]


def named(value: object) -> str | None:
    """What a kind, or the versions, are called in a test's name."""
    return "+".join(str(one) for one in value if one) if isinstance(value, tuple) else None
