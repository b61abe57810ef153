"""The states a process goes through, in their order."""

from __future__ import annotations

NEW, STARTING, RUNNING, STOPPING, DEAD = range(5)
STATES = ("new", "starting", "running", "stopping", "dead")
