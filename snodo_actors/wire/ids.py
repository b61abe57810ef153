"""The ids of requests: positive, rising, never twice in one process."""

from __future__ import annotations

from itertools import count

# One call of a C function: no two threads get the same id.
next_id = count(1).__next__
