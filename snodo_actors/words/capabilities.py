"""What a client says it can do: what the caller declares, and what its options imply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from snodo_actors.words.types import InputKind, JSONObject, is_mapping, is_object
from snodo_actors.words.versions import is_stateless

_IMPLIED: Final[dict[InputKind, JSONObject]] = {
    "form": {"elicitation": {"form": {}}},
    "url": {"elicitation": {"url": {}}},
    "sampling": {"sampling": {}},
    "roots": {"roots": {"listChanged": False}},
}


def merge_capabilities(declared: JSONObject, kinds: Iterable[InputKind]) -> JSONObject:
    """Add what handlers of these *kinds* imply to the *declared* capabilities, which win.

    Without handlers they stay as they are, odd or not. An empty `elicitation` means forms.

    Raises:
        TypeError: A capability that a handler adds to is declared as something else than an object.
    """
    merged = dict(declared)
    for kind in kinds:
        if kind in ("form", "url") and merged.get("elicitation") == {}:
            merged["elicitation"] = {"form": {}}
        merged = _merge(merged, _IMPLIED[kind], "client_capabilities")
    return merged


def with_extensions(
    declared: JSONObject, extensions: Mapping[str, Any], version: str
) -> JSONObject:
    """Add *extensions* to the *declared* capabilities, which win, where the *version* has such.

    What is declared as something else than an object stays as it is.
    """
    own: Any = declared.get("extensions", {})
    if not extensions or not is_stateless(version) or not is_mapping(own):
        return declared
    return {**declared, "extensions": {**extensions, **own}}


def check_roots_change(capabilities: Mapping[str, Any]) -> None:
    """See to it that the server was told that the roots may change.

    Raises:
        ValueError: It was told that they do not, or nothing about roots at all.
    """
    roots = capabilities.get("roots")
    if not is_mapping(roots) or roots.get("listChanged") is not True:
        raise ValueError(
            "the server was not told that the roots may change: connect with "
            'client_capabilities={"roots": {"listChanged": True}}'
        )


def _merge(declared: Mapping[str, Any], implied: JSONObject, path: str) -> JSONObject:
    merged = dict(declared)
    for key, value in implied.items():
        own: Any = merged.setdefault(key, value)
        if is_object(value) and not is_object(own):
            raise TypeError(
                f"{path}[{key!r}] must be an object, since an input handler adds to it, "
                f"not {own!r}: leave it out, or write {{}}"
            )
        if is_object(value):
            merged[key] = _merge(own, value, f"{path}[{key!r}]")
    return merged
