"""How a server introduces itself: its capabilities, and the answers that begin a connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from snodo_actors.server.dialects import Dialect
from snodo_actors.server.feeds import Feeds
from snodo_actors.server.methods import Answer
from snodo_actors.server.offers import Offers
from snodo_actors.words.types import JSONObject


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """A server as its clients see it, in the *versions* that are enabled."""

    info: JSONObject
    versions: tuple[str, ...]
    offers: Callable[[], Offers]
    feeds: Feeds
    instructions: str | None = None
    extensions: Mapping[str, JSONObject] = field(default_factory=dict[str, JSONObject])

    def discovered(self) -> Answer:
        """Answer `server/discover`."""
        result = {
            "supportedVersions": list(self.versions),
            "capabilities": self._capabilities(is_stateless=True),
            **self._instructions(),
        }
        return Answer(result, self.offers().freshness)

    def initialized(self, dialect: Dialect) -> Answer:
        """Answer `initialize`."""
        result = {
            "protocolVersion": dialect.version,
            "capabilities": self._capabilities(is_stateless=False),
            "serverInfo": dialect.implementation(self.info),
            **self._instructions(),
        }
        return Answer(result)

    def _instructions(self) -> JSONObject:
        return {} if self.instructions is None else {"instructions": self.instructions}

    def _capabilities(self, *, is_stateless: bool) -> JSONObject:
        """Say what the server can do; only 2026-07-28 has streams that changes are told on."""
        features = self.offers().features
        changes: Mapping[str, Any] = {"listChanged": True} if is_stateless else {}
        capabilities: JSONObject = {}
        if "tools" in features:
            capabilities["tools"] = {**changes}
        if "resources" in features:
            capabilities["resources"] = {**changes, **({"subscribe": True} if changes else {})}
        if "prompts" in features:
            capabilities["prompts"] = {**changes}
        if "completions" in features:
            capabilities["completions"] = {}
        if self.extensions and is_stateless:
            capabilities["extensions"] = dict(self.extensions)
        return capabilities
