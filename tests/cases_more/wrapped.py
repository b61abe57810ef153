"""A server that is not the process that was started, or hears itself. CASE_MODE says how.

shell      run by a shell that waits for it
parent     run by a parent that ignores SIGTERM
pipeline   its output goes through `cat`
mirror     nothing but `cat`
echo       writes every line it reads before it answers
lock       holds a lock, fails if it is taken, and does not answer the probe
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys

from kit import LOG, MODE, begin, encode, fact, messages, obey, raw

HERE = f'"{sys.executable}" "{__file__}"'

if os.environ.get("CASE_INNER") != "1":
    os.environ["CASE_INNER"] = "1"
    if MODE == "shell":
        os.execvp("sh", ["sh", "-c", f"{HERE}; echo ended >&2"])
    if MODE == "pipeline":
        os.execvp("sh", ["sh", "-c", f"{HERE} | cat"])
    if MODE == "mirror":
        os.execvp("cat", ["cat"])
    if MODE == "parent":
        for one in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(one, signal.SIG_IGN)
        sys.exit(subprocess.call([sys.executable, __file__]))

if MODE == "lock":
    lock = os.open(f"{LOG}.lock", os.O_CREAT | os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        fact("locked")
        sys.stderr.write("fatal: another instance is running\n")
        sys.exit(9)

begin()
for message in messages():
    if MODE == "echo":
        raw(encode(message) + b"\n")
    if MODE == "lock" and message.get("method") == "server/discover":
        continue
    if MODE in ("shell", "parent", "pipeline") and message.get("method") == "tools/call":
        arguments = message["params"].get("arguments") or {}
        if "exit" in arguments:
            os._exit(arguments["exit"])
    obey(message)
