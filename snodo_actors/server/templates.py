"""URI templates: which URIs have the form of one, and what their parts are.

Of RFC 6570 there are `{name}`, which takes what stands between two slashes, and `{+name}` or
`{name*}`, which take everything.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

_PART = re.compile(r"\{(?P<reserved>\+?)(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<many>\*?)\}")


class UriTemplate:
    """One template.

    Raises:
        ValueError: It has no part, one part twice, or a part of another kind.
    """

    __slots__ = ("_pattern", "names", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.names: list[str] = []
        pattern, end = "", 0
        for part in _PART.finditer(text):
            name = part["name"]
            if name in self.names:
                raise ValueError(f"the URI template {text!r} has {{{name}}} twice")
            self.names.append(name)
            takes = ".+" if part["reserved"] or part["many"] else "[^/?#]+"
            pattern += f"{self._literal(text[end : part.start()])}(?P<{name}>{takes})"
            end = part.end()
        if not self.names:
            raise ValueError(f"the URI template {text!r} has no {{name}}: make it a resource")
        self._pattern = re.compile(pattern + self._literal(text[end:]), re.DOTALL)

    def match(self, uri: str) -> dict[str, str] | None:
        """Take *uri* apart; None if it has not this form."""
        found = self._pattern.fullmatch(uri)
        return None if found is None else {k: unquote(v) for k, v in found.groupdict().items()}

    def _literal(self, text: str) -> str:
        if "{" in text or "}" in text:
            raise ValueError(
                f"the URI template {self.text!r} has a part that is not known: there are {{name}}, "
                "{+name} and {name*}"
            )
        return re.escape(text)
