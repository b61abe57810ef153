"""Where this user's programs keep what is neither configuration nor a document."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def state_folder() -> Path:
    """Return our folder in it, which need not be there."""
    if sys.platform == "win32":
        named, usual = os.environ.get("LOCALAPPDATA", ""), Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        named, usual = "", Path.home() / "Library" / "Application Support"
    else:
        named, usual = os.environ.get("XDG_STATE_HOME", ""), Path.home() / ".local" / "state"
    # The XDG specification ignores a relative one.
    return (Path(named) if Path(named).is_absolute() else usual) / "snodo-actors"
