"""What one settled HTTP connection wants said in every request, in its headers too."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from snodo_actors.actors.request import Profile, Request
from snodo_actors.wire.headers import Fields, message_fields
from snodo_actors.wire.meta import PROTOCOL_VERSION
from snodo_actors.wire.policy import NAMED_BY, core_policy, extension_policy
from snodo_actors.words.errors import Error
from snodo_actors.words.types import JSONObject, is_mapping

_named_by = NAMED_BY.get  # bound once, for the speed of it


class HttpProfile(Profile):
    """The profile of an HTTP connection."""

    __slots__ = ()
    has_head = True

    def plain_head(self, method: str, params: Mapping[str, Any]) -> Fields | Error:
        """Build what `head` does for a request of the core whose *params* have no `_meta`."""
        field = _named_by(method)
        name = None if field is None else params.get(field)
        if name is None or isinstance(name, str):
            return core_fields(self.version, method, self.meta.get(PROTOCOL_VERSION), name)
        return core_fields(self.version, method, None, None)

    def head(self, request: Request, params: Mapping[str, Any]) -> Fields | Error:
        """Build the header fields that *request*, with its final *params*, decides."""
        method, version = request.method, self.version
        if request.extension is not None:
            message: JSONObject = {"method": method, "params": params}
            policy = extension_policy(request.extension, version, message)
            return policy if isinstance(policy, Error) else message_fields(message, policy)
        meta = params.get("_meta", self.meta)
        named = meta.get(PROTOCOL_VERSION) if is_mapping(meta) else None
        field = NAMED_BY.get(method)
        name = params.get(field) if field is not None else None
        is_named = named is None or isinstance(named, str)
        if is_named and (name is None or isinstance(name, str)):
            return core_fields(version, method, named, name)
        return core_fields(version, method, None, None)


@lru_cache(maxsize=1024)  # the same few requests, over and over
def core_fields(
    version: str | None, method: str, named: str | None, name: str | None
) -> Fields | Error:
    """Build the fields of a request of the core, about *name*; its body *named* that version."""
    field = NAMED_BY.get(method)
    params: JSONObject = {"_meta": {PROTOCOL_VERSION: named}}
    if field is not None:
        params[field] = name
    return message_fields({"method": method, "params": params}, core_policy(version, method))
