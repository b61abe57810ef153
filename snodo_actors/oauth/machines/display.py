"""Whether a browser that is opened here would be seen by the user."""

from __future__ import annotations

from collections.abc import Mapping


def has_display(platform: str, environ: Mapping[str, str]) -> bool:
    """Tell it by `sys.platform` and the environment.

    Without a display only browsers for terminals could be had, which would take this one over.
    `BROWSER` is the user's own word.
    """
    if environ.get("BROWSER"):
        return True
    if platform in ("win32", "cygwin", "darwin"):
        # A display needs no variable there, but the user may sit at another machine.
        return not (environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    if platform in ("android", "ios"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
