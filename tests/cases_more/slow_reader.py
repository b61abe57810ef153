"""A server that stops to read for a while."""

from __future__ import annotations

import time

from kit import arguments, obey, serve, tool


@tool
def stop_reading_for(message):
    """Answer this call, then read nothing for some `seconds`."""
    obey(message)
    time.sleep(arguments(message)["seconds"])


serve()
