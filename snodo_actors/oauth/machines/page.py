"""What the browser shows at the end.

Knows the headers and the body of an answer; shows nothing of the request, and runs nothing.
"""

from __future__ import annotations

from html import escape

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,"></head>
<body><h1>{title}</h1><p>{text}</p></body>
</html>
"""

# The icon in the page is empty, so that no browser asks for another one.
_POLICY = (
    "default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_HEADERS = (
    ("content-type", "text/html; charset=utf-8"),
    ("cache-control", "no-store"),
    ("content-security-policy", _POLICY),
    ("cross-origin-resource-policy", "same-origin"),
    ("referrer-policy", "no-referrer"),  # the address of the page has the code in it
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("connection", "close"),
)


def thanks() -> tuple[list[tuple[str, str]], bytes]:
    """Build headers and body for the redirect that was waited for, whatever it says."""
    return _build(
        "The answer has arrived", "You may close this window and go back to the program.", ()
    )


def refusal(status: int, why: str) -> tuple[list[tuple[str, str]], bytes]:
    """Build headers and body for another request."""
    text = f"This is not the request that the program waits for: {why}."
    return _build("Not here", text, [("allow", "GET")] if status == 405 else ())


def _build(
    title: str, text: str, more: list[tuple[str, str]] | tuple[()]
) -> tuple[list[tuple[str, str]], bytes]:
    body = _PAGE.format(title=escape(title), text=escape(text)).encode()
    return [*_HEADERS, ("content-length", f"{len(body)}"), *more], body
