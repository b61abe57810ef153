from __future__ import annotations

import pytest

from snodo_actors.oauth.machines.display import has_display


@pytest.mark.parametrize(
    ("seen", "platform", "environ"),
    [
        (False, "linux", {}),
        (False, "linux", {"DISPLAY": "", "BROWSER": ""}),
        (False, "freebsd14", {}),
        (True, "linux", {"DISPLAY": ":0"}),
        (True, "linux", {"DISPLAY": "localhost:10.0", "SSH_CONNECTION": "x"}),
        (True, "linux", {"WAYLAND_DISPLAY": "wayland-0"}),
        (True, "linux", {"BROWSER": "w3m"}),
        (True, "darwin", {}),
        (False, "darwin", {"SSH_CONNECTION": "x"}),
        (False, "darwin", {"SSH_TTY": "/dev/ttys001"}),
        (True, "darwin", {"SSH_TTY": "/dev/ttys001", "BROWSER": "open"}),
        (True, "win32", {}),
        (True, "android", {}),
    ],
)
def test_a_browser_is_seen(seen: bool, platform: str, environ: dict[str, str]) -> None:
    assert seen is has_display(platform, environ)
