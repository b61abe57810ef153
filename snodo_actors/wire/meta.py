"""The `params` of a request: what the caller gave, and what goes into its `_meta`.

From the lowest to the highest: what the version wants said in each request, the `_meta` of the
caller's params, the `meta` option, the trace context, the progress token. An empty `_meta` is left
out, so an initialize-era request has one only when the caller asks for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from snodo_actors.words.types import JSONObject, is_mapping
from snodo_actors.words.versions import is_stateless

PREFIX: Final = "io.modelcontextprotocol/"
PROTOCOL_VERSION: Final = f"{PREFIX}protocolVersion"
CLIENT_CAPABILITIES: Final = f"{PREFIX}clientCapabilities"
CLIENT_INFO: Final = f"{PREFIX}clientInfo"
SUBSCRIPTION_ID: Final = f"{PREFIX}subscriptionId"
PROGRESS_TOKEN: Final = "progressToken"  # noqa: S105  # the name of a field


def version_meta(
    version: str, client_capabilities: Mapping[str, Any], client_info: Mapping[str, Any]
) -> JSONObject:
    """Build what *version* wants said in each request; it is the same for a whole connection."""
    if not is_stateless(version):
        return {}
    return {
        PROTOCOL_VERSION: version,
        CLIENT_CAPABILITIES: client_capabilities,
        CLIENT_INFO: client_info,
    }


def build_params(
    params: Mapping[str, Any],
    base: Mapping[str, Any],
    *,
    meta: Mapping[str, Any] | None = None,
    trace_context: Mapping[str, str] | None = None,
    progress_token: int | None = None,
    input_responses: Mapping[str, Any] | None = None,
    request_state: Any = None,
) -> JSONObject:
    """Build the params to send from those of the caller, which stay as they are.

    *base* is the `version_meta` of the connection, *trace_context* is checked already.

    Raises:
        TypeError: `params["_meta"]` is no mapping.
        ValueError: The caller chose a progress token, and asked for progress too.
    """
    merged = {**base, **_own_meta(params)}
    if meta:
        merged |= meta
    if trace_context:
        merged |= trace_context
    if progress_token is not None:
        if PROGRESS_TOKEN in merged:
            raise ValueError(
                "progress= chooses the progressToken itself: take it out of meta and _meta"
            )
        merged[PROGRESS_TOKEN] = progress_token
    built = dict(params)
    built.pop("_meta", None)
    if input_responses is not None:
        built["inputResponses"] = input_responses
    if request_state is not None:
        built["requestState"] = request_state
    if merged:
        built["_meta"] = merged
    return built


def _own_meta(params: Mapping[str, Any]) -> Mapping[str, Any]:
    own: Any = params.get("_meta", {})
    if not is_mapping(own):
        raise TypeError(f'params["_meta"] must be a mapping, not {own!r}')
    return own
