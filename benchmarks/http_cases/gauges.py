"""What this process has used."""

from __future__ import annotations

import gc
import resource
from pathlib import Path


def cpu() -> float:
    """Seconds of processor time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory() -> float:
    """kB of memory that it has now; of systems without /proc, that it had at most."""
    gc.collect()
    status = Path("/proc/self/statm")
    if status.exists():
        return int(status.read_text().split()[1]) * resource.getpagesize() / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def allow_descriptors() -> None:
    """Allow as many connections as the system lets us."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
