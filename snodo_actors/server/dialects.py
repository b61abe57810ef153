"""What the versions of the protocol do not have in common, on the side of the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from snodo_actors.server.errors import RESOURCE_NOT_FOUND
from snodo_actors.server.offers import Freshness
from snodo_actors.wire.catalog import INITIALIZE_REQUESTS, STATELESS_REQUESTS
from snodo_actors.wire.jsonrpc import INVALID_PARAMS
from snodo_actors.wire.meta import PREFIX
from snodo_actors.words.failures import milliseconds
from snodo_actors.words.types import JSONObject, is_object
from snodo_actors.words.versions import VERSIONS, is_stateless

SERVER_INFO: Final = f"{PREFIX}serverInfo"


@dataclass(frozen=True, slots=True)
class Dialect:
    """One version."""

    version: str

    @property
    def is_stateless(self) -> bool:
        """Whether each request says everything."""
        return is_stateless(self.version)

    @property
    def requests(self) -> frozenset[str]:
        """The requests a client may send."""
        return STATELESS_REQUESTS if self.is_stateless else INITIALIZE_REQUESTS

    @property
    def resource_not_found(self) -> int:
        """The code for a resource that is not there."""
        return INVALID_PARAMS if self.is_stateless else RESOURCE_NOT_FOUND

    @property
    def bad_arguments_are_results(self) -> bool:
        """Whether a tool itself reports arguments it cannot take, so that a model can mend them."""
        return self.version != "2025-06-18"

    def described(self, definition: JSONObject) -> JSONObject:
        """Leave out of a *definition* what the version does not know."""
        known = dict(definition)
        if self.version == "2025-06-18":
            known.pop("icons", None)
        schema = known.get("outputSchema")
        if schema is not None and not self.is_stateless and schema.get("type") != "object":
            del known["outputSchema"]
        return known

    def implementation(self, info: JSONObject) -> JSONObject:
        """Leave out of what the server says it is what the version does not know."""
        if self.version != "2025-06-18":
            return info
        return {key: info[key] for key in ("name", "title", "version") if key in info}

    def tool_result(self, result: JSONObject) -> JSONObject:
        """Leave out of a tool's result what the version does not know."""
        if not self.is_stateless and not is_object(result.get("structuredContent", {})):
            del result["structuredContent"]
        return result

    def complete(
        self, result: JSONObject, info: JSONObject, freshness: Freshness | None
    ) -> JSONObject:
        """Finish a *result* that may be kept for as long as *freshness* says."""
        if not self.is_stateless:
            return result
        result.setdefault("resultType", "complete")
        if freshness is not None and result["resultType"] == "complete":
            result.setdefault("ttlMs", int(milliseconds(freshness.ttl)))
            result.setdefault("cacheScope", freshness.scope)
        meta: Mapping[str, Any] = result.get("_meta", {})
        result["_meta"] = {SERVER_INFO: info, **meta}
        return result


DIALECTS: Final[Mapping[str, Dialect]] = {version: Dialect(version) for version in VERSIONS}
