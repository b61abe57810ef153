"""Misbehaving servers as child processes, and the places a client may talk to them from.

A test of a case is one coroutine that runs in every place: in the loop of a node, in a loop beside
one, and in a plain thread. It waits with `at.get(future)`, which awaits or blocks as the place
does. What a server saw is in its file of facts; a test waits for a fact, never for a while.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import importlib.util
import inspect
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import anyio
import pykka

import snodo_actors as snodo
from supervisors import Future, Node

TESTS = Path(__file__).parent
SLOW = float(os.environ.get("CASE_SLOW", "1"))
"""What every upper bound on a time is multiplied by: more than 1 on a machine that is busy."""
PATIENCE = 15.0 * SLOW
"""Seconds after which what a test waits for does not come any more."""
LEGACY = "2025-11-25"
MODERN = "2026-07-28"


# ---- where a client may be


class Place:
    """In the loop of a node, on asyncio or trio."""

    def __init__(self, backend: str, *, uvloop: bool = False) -> None:
        self.backend = backend
        self.options = {"use_uvloop": uvloop} if backend == "asyncio" else {}

    def run(self, test: Callable[[], Awaitable[None]]) -> None:
        """Run a test here."""

        async def main() -> None:
            async with Node():
                await test()

        anyio.run(main, backend=self.backend, backend_options=self.options)

    async def get(self, future: Any) -> Any:
        """What comes of *future*."""
        with anyio.fail_after(4 * PATIENCE):
            return await future

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    async def together(self, *functions: Callable[[], Awaitable[Any]]) -> list[Any]:
        """Run the functions at the same time, each in a task or thread of its own."""
        results: list[Any] = [None] * len(functions)

        async def run(index: int, function: Callable[[], Awaitable[Any]]) -> None:
            results[index] = await function()

        async with anyio.create_task_group() as group:
            for index, function in enumerate(functions):
                group.start_soon(run, index, function)
        return results

    async def give_up(self, future: Any) -> None:
        """Wait for a future for a moment, and then not any more, as a cancelled task does."""
        with anyio.move_on_after(0.1) as scope:
            await future
        assert scope.cancelled_caught, "there was an outcome"

    # ---- what every place has

    async def error(self, future: Any) -> snodo.Error:
        """The error *future* fails with."""
        try:
            value = await self.get(future)
        except snodo.Error as error:
            return error
        raise AssertionError(f"it did not fail, it is {shown(value)}")

    async def until(self, condition: Callable[[], Any], within: float = PATIENCE) -> Any:
        """Wait until *condition* holds; return what it is then."""
        deadline = time.monotonic() + within
        while not (value := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{inspect.getsource(condition).strip()} does not come true")
            await self.sleep(0.01)
        return value

    async def in_thread(self, function: Callable[[], Any]) -> None:
        """Run *function* in a thread of its own, and wait for the end of that."""
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(function,))
        thread.start()
        await self.until(lambda: not thread.is_alive())

    async def all(self, *futures: Any) -> list[Any]:
        """What came of each: a value, or the error it failed with."""
        return [await self.outcome(future) for future in futures]

    async def outcome(self, future: Any) -> Any:
        """A value, or the error it failed with."""
        try:
            return await self.get(future)
        except snodo.Error as error:
            return error


class Beside(Place):
    """In a loop of the program's own; the node has its thread."""

    def __init__(self, backend: str, node: Literal["asyncio", "trio"]) -> None:
        super().__init__(backend)
        self.node = node

    def run(self, test: Callable[[], Awaitable[None]]) -> None:
        async def main() -> None:
            await test()

        with Node(backend=self.node):
            anyio.run(main, backend=self.backend, backend_options=self.options)


class Thread(Place):
    """In a thread; the node has its own, on asyncio or trio."""

    def run(self, test: Callable[[], Awaitable[None]]) -> None:
        with Node(backend=self.backend):
            in_thread(test)

    async def get(self, future: Any) -> Any:
        return future.get(timeout=4 * PATIENCE)

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)  # noqa: ASYNC251  # nothing else runs in this thread

    async def give_up(self, future: Any) -> None:
        try:
            future.get(timeout=0.1)
        except pykka.Timeout:
            return
        raise AssertionError("there was an outcome")

    async def together(self, *functions: Callable[[], Awaitable[Any]]) -> list[Any]:
        with ThreadPoolExecutor(len(functions)) as pool:
            running = [
                pool.submit(contextvars.copy_context().run, in_thread, function)
                for function in functions
            ]
            return [one.result() for one in running]


def in_thread(function: Callable[[], Awaitable[Any]]) -> Any:
    """Run a coroutine function that never suspends, as it blocks instead."""
    coroutine: Any = function()
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    coroutine.close()
    raise AssertionError("it awaited something that does not come from `at`")


PLACES: dict[str, Callable[[], Place]] = {
    "asyncio": lambda: Place("asyncio"),
    "trio": lambda: Place("trio"),
    "thread": lambda: Thread("asyncio"),
    "thread-trio": lambda: Thread("trio"),
    "beside": lambda: Beside("asyncio", "trio"),
    "beside-trio": lambda: Beside("trio", "asyncio"),
    "default": lambda: Beside("asyncio", "asyncio"),
}
if importlib.util.find_spec("uvloop"):
    PLACES["uvloop"] = lambda: Place("asyncio", uvloop=True)

FOUR = ("asyncio", "trio", "thread", "thread-trio")


def everywhere(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """Make a plain test of a coroutine function: it runs in the place its `at` is.

    In each of the first four places, unless its marks say where.
    """

    @functools.wraps(test)
    def run(*, at: Place, **fixtures: Any) -> None:
        at.run(lambda: test(at=at, **fixtures))

    run.places = FOUR  # type: ignore[attr-defined]
    return run


def across(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    """As `everywhere`, in two of the places: awaited on one backend, blocking on the other.

    For the tables of what else may happen, which are long. CASE_PLACES=all takes all four.
    """
    run = everywhere(test)
    if os.environ.get("CASE_PLACES") != "all":
        first = zlib.crc32(test.__name__.encode()) % 2
        run.places = (FOUR[first], FOUR[3 - first])  # type: ignore[attr-defined]
    return run


# ---- the servers


class Server:
    """A script that is run as a server, and what it wrote down."""

    def __init__(self, script: Path, log: Path) -> None:
        self.script = script
        self.log = log

    @property
    def target(self) -> tuple[str, str, list[str]]:
        return ("stdio", sys.executable, [str(self.script), str(self.log)])

    def connect(self, **options: Any) -> Future[snodo.Client]:
        """Connect as the cases do: to one version, each call with 5 s."""
        options = {"protocol": LEGACY, "timeout": 5.0, **options}
        if options["protocol"] is None:
            del options["protocol"]
        options["env"] = {"CASE_LOG": str(self.log), **options.get("env", {})}
        return snodo.connect(self.target, **options)

    def facts(self, kind: str | None = None, **fields: Any) -> list[dict[str, Any]]:
        """The facts so far, in order."""
        try:
            lines = self.log.read_text("utf-8").splitlines()
        except FileNotFoundError:
            return []
        facts = []
        for line in lines:
            with contextlib.suppress(ValueError):  # half written
                facts.append(json.loads(line))
        return [
            fact
            for fact in facts
            if kind in (None, fact["fact"])
            and all(fact.get(name) == value for name, value in fields.items())
        ]

    def received(self, method: str | None = None) -> list[dict[str, Any]]:
        """The messages that came to it."""
        return self.facts("recv") if method is None else self.facts("recv", method=method)

    def processes(self) -> list[int]:
        """Who runs now that was started by this test: the server and all it left behind."""
        mark = f"CASE_LOG={self.log}".encode()
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue  # it has ended meanwhile
            if mark in environment and state != "Z":
                found.append(int(entry.name))
        return found

    def kill_all(self) -> None:
        """End what is left of it."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def text_of(result: Any) -> str:
    """What a tool said."""
    assert isinstance(result, dict), f"no result: {result!r}"
    return result["content"][0]["text"]


def said(**arguments: Any) -> str:
    """What `echo` says to *arguments*."""
    return json.dumps(arguments, sort_keys=True)


async def echoes(at: Place, client: snodo.Client, **arguments: Any) -> None:
    """The connection still works: `echo` answers, and answers this call."""
    arguments = arguments or {"still": "there"}
    assert text_of(await at.get(client.call_tool("echo", arguments))) == said(**arguments)


def lost(error: Any, cause: Any = ...) -> None:
    """The connection failed the call, and says so as itself."""
    assert isinstance(error, snodo.TransportError), f"not a TransportError: {error!r}"
    assert (error.code, error.kind) == (-32000, "transport"), repr(error)
    if cause is not ...:
        assert error.cause == cause, repr(error)


def timed_out(error: Any, seconds: float) -> None:
    """The call ran out of its own time."""
    assert isinstance(error, snodo.RequestTimeout), f"not a RequestTimeout: {error!r}"
    assert (error.code, error.kind, error.cause) == (-32001, "transport", "timeout"), repr(error)
    assert error.data == {"timeoutMs": round(seconds * 1000)}, repr(error)


def shown(value: Any) -> str:
    """A value, short."""
    text = repr(value)
    return text if len(text) < 300 else f"{text[:150]} ... {text[-150:]}"


# ---- time and memory


class Took:
    """How many seconds a block took."""

    seconds: float = 0.0


@contextlib.contextmanager
def took(below: float, least: float = 0.0) -> Iterator[Took]:
    """Fail if the block takes *below* seconds or more, or less than *least*."""
    watch, start = Took(), time.monotonic()
    yield watch
    watch.seconds = time.monotonic() - start
    assert watch.seconds < below * SLOW, f"took {watch.seconds:.2f} s, may take {below} s"
    assert watch.seconds >= least, f"took only {watch.seconds:.2f} s, has to take {least} s"


def program(code: str, *args: object, timeout: float = 60.0, **options: Any) -> Any:
    """Run *code* in a Python of its own; return what it printed as JSON on its last line."""
    ran = subprocess.run(
        [sys.executable, "-c", code, *map(str, args)],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=TESTS,
        check=False,
        **options,
    )
    assert ran.returncode == 0, f"ended with {ran.returncode}:\n{ran.stdout}\n{ran.stderr}"
    return json.loads(ran.stdout.splitlines()[-1])


class Memory:
    """How much memory this process has taken since a moment; for a program of its own."""

    def __init__(self) -> None:
        self._before = self._read("VmRSS")
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew

    def peak(self) -> float:
        """MiB at the most."""
        return self._read("VmHWM") - self._before

    def now(self) -> float:
        """MiB at this moment."""
        return self._read("VmRSS") - self._before

    @staticmethod
    def _read(field: str) -> float:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
        raise AssertionError(f"no {field} here")
