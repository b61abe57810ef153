"""The documents show programs that run as they stand, and name every failure there is."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import snodo_actors as snodo
from snodo_actors.actors import request
from snodo_actors.machines import limits
from snodo_actors.words import failures, lost

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])

# A program is marked with `<!-- run -->`; the block marked with `<!-- prints -->` after it is what
# it writes to stdout, where `...` stands for anything within a line.
PROGRAM = re.compile(
    r"^<!-- run -->\n```python\n(?P<code>.*?)^```$"
    r"(?:(?:(?!<!-- run -->).)*?^<!-- prints -->\n```text\n(?P<prints>.*?)^```$)?",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Program:
    """A program of a document."""

    document: Path
    line: int
    code: str
    prints: str | None

    def __str__(self) -> str:
        return f"{self.document.name}:{self.line}"


def programs() -> Iterator[Program]:
    for document in DOCUMENTS:
        text = document.read_text(encoding="utf-8")
        for found in PROGRAM.finditer(text):
            line = text.count("\n", 0, found.start("code")) + 1
            yield Program(document, line, found["code"], found["prints"])


PROGRAMS = list(programs())


@pytest.mark.parametrize("program", PROGRAMS, ids=str)
def test_a_program_runs_and_prints_what_is_shown(program: Program, tmp_path: Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(program.code, encoding="utf-8")

    run = subprocess.run(
        [sys.executable, "-W", "error", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert run.returncode == 0, run.stdout + run.stderr
    if program.prints is not None:
        wanted = re.escape(program.prints).replace(re.escape("..."), ".*")
        assert re.fullmatch(wanted, run.stdout), run.stdout


def test_every_mark_marks_a_program() -> None:
    texts = [document.read_text(encoding="utf-8") for document in DOCUMENTS]

    assert len(PROGRAMS) == sum(text.count("<!-- run -->\n") for text in texts)
    assert sum(program.prints is not None for program in PROGRAMS) == sum(
        text.count("<!-- prints -->\n") for text in texts
    )


def headings(document: Path) -> set[str]:
    """What can follow the `#` of a link to *document*."""
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    found = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in found}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_to_headings(document: Path) -> None:
    links = re.findall(r"\]\(([\w./-]*)#([^)\s]+)\)", document.read_text(encoding="utf-8"))

    assert [
        f"{path}#{heading}"
        for path, heading in links
        if heading not in headings(document.parent / path if path else document)
    ] == []


# ---- the table of events


def emitted() -> Iterator[tuple[str, frozenset[str | None]]]:
    """What the package tells its telemetry: each event, and the names of what comes with it."""
    for path in (ROOT / "snodo_actors").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(ast.Attribute(attr="emit"), [ast.Constant(str(event))], keywords):
                    yield event, frozenset(keyword.arg for keyword in keywords)


def test_every_event_has_its_line() -> None:
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| `(\w+\.\w+)`[^|]*\| ([^|]+) \|$", text, re.MULTILINE)

    told = {event: frozenset(re.findall(r"`(\w+)`", what)) for event, what in lines}
    assert told == dict(emitted())


# ---- the table of failures

SAMPLES: dict[str, Any] = {
    "enabled": ["2025-06-18"],
    "supported": ["2025-06-18"],
    "timeout": 0.5,
    "max_total_timeout": 2.0,
    "limit": 3,
    "max_pages": 3,
    "status": 3,
    "body": b"no",
    "reason": OSError("no"),
    "failure": snodo.ServerError(-32600, "no"),
}


def constructors() -> dict[str, Callable[..., snodo.Error]]:
    """Every function that makes a failure, by name."""
    found: dict[str, Callable[..., snodo.Error]] = {}
    for module in (failures, lost, limits, request):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            kind = get_type_hints(function).get("return")
            is_error = inspect.isclass(kind) and issubclass(kind, snodo.Error)
            if is_error and function.__module__ == module.__name__ and not name.startswith("_"):
                found[name] = function
    del found["ended_because"]  # it finds the failure that is the reason of an end
    return found


def sample(make: Callable[..., Any]) -> Any:
    """Call *make* with something for each argument it needs."""
    needed = [
        name
        for name, parameter in inspect.signature(make).parameters.items()
        if parameter.default is inspect.Parameter.empty
    ]
    return make(*(SAMPLES.get(name, f"<{name}>") for name in needed))


@dataclass(frozen=True)
class Row:
    """A line of the table of failures."""

    name: str
    error: str
    code: int
    kind: str
    data: str
    cause: str
    delivery: str


def rows() -> dict[str, Row]:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    found: dict[str, Row] = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        named = re.search(r"\(`(\w+)`\)$", cells[0]) if len(cells) == 8 else None
        if named is not None:
            plain = [cell.replace("`", "") for cell in cells]
            row = Row(named[1], plain[1], int(plain[2]), *plain[3:7])
            assert named[1] not in found, f"{named[1]} has two lines"
            found[named[1]] = row
    return found


def test_every_failure_has_its_line() -> None:
    assert sorted(rows()) == sorted(constructors())


@pytest.mark.parametrize("name", sorted(constructors()))
def test_a_line_says_what_the_failure_is(name: str) -> None:
    row, failure = rows()[name], sample(constructors()[name])

    class_name = type(failure).__name__
    assert (row.error, row.code, row.kind) == (
        "RequestTimeout" if class_name == "GivenUp" else class_name,
        failure.code,
        failure.kind,
    )
    assert failure.delivery in row.delivery
    assert set(re.findall(r"\w+", row.data)) >= set(failure.data or {})
    tag = failure.cause[0] if isinstance(failure.cause, tuple) else failure.cause
    if isinstance(tag, str) and not tag.startswith("<"):
        assert f'"{tag}"' in row.cause
