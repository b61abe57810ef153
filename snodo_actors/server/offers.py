"""What a server offers: how each thing is described to clients, and the function behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from snodo_actors.server.signature import Signature
from snodo_actors.server.templates import UriTemplate
from snodo_actors.words.types import JSONObject

CacheScope = Literal["public", "private"]
CompletionKey = tuple[str, str, str]
"""The type of the reference, its name or URI, and the argument."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """How long clients may keep a result, in seconds, and whether for one user only."""

    ttl: float = 0.0
    scope: CacheScope = "private"


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool; *is_wrapped* if what it returns is put into an object, under `result`."""

    definition: JSONObject
    signature: Signature
    converts: bool
    structured: bool
    is_wrapped: bool


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource at one URI."""

    definition: JSONObject
    signature: Signature
    freshness: Freshness


@dataclass(frozen=True, slots=True)
class Template:
    """Resources at all URIs of one form."""

    definition: JSONObject
    signature: Signature
    freshness: Freshness
    uri: UriTemplate


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt."""

    definition: JSONObject
    signature: Signature


@dataclass(frozen=True, slots=True, kw_only=True)
class Offers:
    """All that a server offers at one moment."""

    tools: Mapping[str, Tool] = field(default_factory=dict[str, Tool])
    resources: Mapping[str, Resource] = field(default_factory=dict[str, Resource])
    templates: Mapping[str, Template] = field(default_factory=dict[str, Template])
    prompts: Mapping[str, Prompt] = field(default_factory=dict[str, Prompt])
    completions: Mapping[CompletionKey, Signature] = field(
        default_factory=dict[CompletionKey, Signature]
    )
    methods: Mapping[str, Signature] = field(default_factory=dict[str, Signature])
    features: frozenset[str] = frozenset()
    """What was ever offered; a client is not told that it was only for now."""
    page_size: int | None = None
    freshness: Freshness = Freshness()
