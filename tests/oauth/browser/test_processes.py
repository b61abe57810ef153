"""Real browsers and real terminals, as far as a test can be one."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

from snodo_actors.oauth.machines.urls import browser_url

CHILD = Path(__file__).parents[2] / "browser_child.py"
NO_SHELL = "&x=;touch${IFS}touched;$(touch${IFS}touched)&`touch${IFS}touched`|'\"%20%22$HOME"

BROWSER = f"""#!{sys.executable}
import json, sys, urllib.request
from urllib.parse import parse_qs, urlencode, urlsplit

with open(__file__ + ".json", "w") as record:
    json.dump(sys.argv[1:], record)
uri = parse_qs(urlsplit(sys.argv[1]).query)["redirect_uri"][0]
urllib.request.urlopen(uri + "?" + urlencode({{"code": "c", "state": "s"}})).read()
"""


@contextlib.contextmanager
def child(
    backend: str, folder: Path, *, stdin: int, more: str = "", timeout: float = 10.0, **env: str
) -> Iterator[subprocess.Popen[str]]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name not in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY")
    }
    with subprocess.Popen(
        [sys.executable, CHILD, backend, more, str(timeout)],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd=folder,
        text=True,
        env={**inherited, "PYTHONPATH": os.pathsep.join(sys.path), **env},
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def line(pipe: IO[str] | None) -> str:
    assert pipe is not None
    return pipe.readline().rstrip("\n")


def read_until(pipe: IO[str] | None, what: str) -> str:
    assert pipe is not None
    text = ""
    while what not in text:
        read = pipe.readline()
        assert read, text
        text += read
    return text


def come_back(uri: str) -> None:
    with urllib.request.urlopen(f"{uri}?code=c&state=s") as page:
        assert page.status == 200


def make_browser(folder: Path) -> Path:
    script = folder / "browser"
    script.write_text(BROWSER)
    script.chmod(0o700)
    return script


@pytest.mark.parametrize("argument", ["", " %s"])
def test_the_browser_of_the_user_is_given_the_url_by_no_shell(
    backend: str, tmp_path: Path, argument: str
) -> None:
    script = make_browser(tmp_path)
    command = f"{script}{argument}"

    with child(
        backend, tmp_path, stdin=subprocess.DEVNULL, more=NO_SHELL, BROWSER=command
    ) as process:
        uri = line(process.stdout)
        assert line(process.stdout) == f"{uri}?code=c&state=s"

    url = browser_url(f"https://as.test/authorize?state=s&redirect_uri={uri}{NO_SHELL}")
    assert json.loads(Path(f"{script}.json").read_text()) == [url]
    assert ";touch$" in url
    assert "$(touch$" in url
    assert sorted(path.name for path in tmp_path.iterdir()) == ["browser", "browser.json"]


@pytest.mark.parametrize("browser", ["", "/no/such/browser", "'"])
def test_without_a_browser_the_address_is_shown_and_the_port_waits(
    backend: str, tmp_path: Path, browser: str
) -> None:
    with child(backend, tmp_path, stdin=subprocess.DEVNULL, BROWSER=browser) as process:
        uri = line(process.stdout)
        shown = read_until(process.stderr, "ssh -L ")
        assert f"https://as.test/authorize?state=s&redirect_uri={uri}" in shown
        come_back(uri)
        assert line(process.stdout) == f"{uri}?code=c&state=s"
        assert process.stderr is not None
        assert "paste" not in process.stderr.read()


def test_a_stderr_that_nobody_reads_is_no_harm(backend: str, tmp_path: Path) -> None:
    with child(backend, tmp_path, stdin=subprocess.DEVNULL) as process:
        assert process.stderr is not None
        process.stderr.close()
        uri = line(process.stdout)
        come_back(uri)
        assert line(process.stdout) == f"{uri}?code=c&state=s"


class Terminal:
    """A terminal, and who sits in front of it."""

    def __init__(self) -> None:
        self.keys, self.inner = os.openpty()
        self._echo = threading.Thread(target=self._look)
        self._echo.start()

    def _look(self) -> None:
        """Look at what is shown, or nothing more can be typed after a while."""
        with contextlib.suppress(OSError):
            while os.read(self.keys, 4096):
                pass

    def type(self, text: str) -> None:
        data = text.encode()
        while data:
            data = data[os.write(self.keys, data[:512]) :]

    def close(self) -> None:
        os.close(self.inner)  # with which _look() ends, once no child has it
        self._echo.join()
        os.close(self.keys)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    terminal = Terminal()
    yield terminal
    terminal.close()


ASKS = "Or paste here"


def test_the_address_may_be_pasted(backend: str, tmp_path: Path, terminal: Terminal) -> None:
    with child(backend, tmp_path, stdin=terminal.inner) as process:
        uri = line(process.stdout)
        read_until(process.stderr, ASKS)
        terminal.type(f"{uri}?code=c&state=s\n")

        assert line(process.stdout) == f"{uri}?code=c&state=s"
        assert line(process.stdout) == "True"  # the terminal is as it was


def test_what_is_not_it_is_asked_for_again(
    backend: str, tmp_path: Path, terminal: Terminal
) -> None:
    with child(backend, tmp_path, stdin=terminal.inner) as process:
        uri = line(process.stdout)
        read_until(process.stderr, ASKS)
        terminal.type(f"{uri}?code=evil&state=other\r")
        assert "its state is not the one" in read_until(process.stderr, "That is not it")
        terminal.type("\n")
        assert "it has no query" in read_until(process.stderr, "That is not it")
        terminal.type("typo\x15?code=c&state=st\x7f\r")

        assert line(process.stdout) == f"{uri}?code=c&state=s"


def test_a_long_address_is_pasted_whole(backend: str, tmp_path: Path, terminal: Terminal) -> None:
    code = "0123456789" * 1000  # more than a terminal keeps of a line
    with child(backend, tmp_path, stdin=terminal.inner) as process:
        uri = line(process.stdout)
        read_until(process.stderr, ASKS)
        terminal.type(f"\x1b[200~{uri}?code={code}&state=s\x1b[201~\n")

        assert line(process.stdout) == f"{uri}?code={code}&state=s"


def test_who_has_nothing_to_paste_may_come_back(
    backend: str, tmp_path: Path, terminal: Terminal
) -> None:
    with child(backend, tmp_path, stdin=terminal.inner) as process:
        uri = line(process.stdout)
        read_until(process.stderr, ASKS)
        terminal.type("\x04")
        come_back(uri)

        assert line(process.stdout) == f"{uri}?code=c&state=s"
        assert line(process.stdout) == "True"


def test_a_paste_is_waited_for_only_so_long(
    backend: str, tmp_path: Path, terminal: Terminal
) -> None:
    with child(backend, tmp_path, stdin=terminal.inner, timeout=0.5) as process:
        line(process.stdout)
        read_until(process.stderr, ASKS)
        terminal.type("half a line")

        assert line(process.stdout).startswith("nobody came back from https://as.test/authorize")
        assert line(process.stdout) == "True"


def test_in_the_background_the_terminal_is_left_alone(
    backend: str, tmp_path: Path, terminal: Terminal
) -> None:
    with child(backend, tmp_path, stdin=terminal.inner, BACKGROUND="1") as process:
        uri = line(process.stdout)
        read_until(process.stderr, "ssh -L ")
        come_back(uri)

        assert line(process.stdout) == f"{uri}?code=c&state=s"
        assert process.stderr is not None
        assert "paste" not in process.stderr.read()
