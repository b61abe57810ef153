"""The table of duties is whole: every duty has its line, and every test it names is there."""

from __future__ import annotations

import ast
import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
TABLE = TESTS.parent / "docs" / "requirements.md"
PROTOCOL = TESTS / "requirements" / "protocol.csv"
REASON = re.compile(r"(open|partly|decided|not ours): \S.*")
NAMED = re.compile(r"`([\w/]+\.py)::(\w+)`")


@dataclass(frozen=True)
class Line:
    """One duty, and what proves that it is done."""

    id: str
    kind: str
    title: str
    proof: str

    def __str__(self) -> str:
        return self.id


def lines() -> list[Line]:
    found = []
    for row in TABLE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in row.split("|")[1:-1]]
        if cells and re.fullmatch(r"[RS]-\d+", cells[0]):
            id, *kind, title, proof = cells
            found.append(Line(id, kind[0] if kind else "", title, proof))
    return found


LINES = lines()


def duties() -> list[tuple[str, str, str]]:
    with PROTOCOL.open(encoding="utf-8", newline="") as file:
        return [(row["id"], row["kind"], row["title"]) for row in csv.DictReader(file)]


@cache
def names_in(path: str) -> frozenset[str]:
    """The names of the tests in a file; none if there is no such file."""
    file = TESTS / path
    if not file.is_file():
        return frozenset()
    nodes = ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    named = (node.name for node in nodes if isinstance(node, kinds))
    return frozenset(name for name in named if name.startswith("test_"))


def test_the_protocol_s_duties_are_all_numbered() -> None:
    assert [id for id, _, _ in duties()] == [f"R-{number:03}" for number in range(1, 185)]
    assert {kind for _, kind, _ in duties()} == set("WHAT")


def test_every_duty_of_the_protocol_has_its_line() -> None:
    table = [(line.id, line.kind, line.title) for line in LINES if line.id.startswith("R")]

    assert table == duties()


def test_every_statement_of_the_library_has_its_line() -> None:
    ids = [line.id for line in LINES if line.id.startswith("S")]

    assert ids == [f"S-{number:02}" for number in range(1, len(ids) + 1)]
    assert len(ids) >= 80


@pytest.mark.parametrize("line", LINES, ids=str)
def test_a_line_names_tests_or_says_why_not(line: Line) -> None:
    named = NAMED.findall(line.proof)

    assert [f"{path}::{test}" for path, test in named if test not in names_in(path)] == []
    assert line.proof.count("::") == len(named), "a test is named in another form"
    if REASON.fullmatch(line.proof) is None:
        assert named, "neither a test nor a reason"
        assert re.sub(NAMED, "", line.proof).strip(", ") == "", "what is missing needs a word"


def test_what_is_for_others_is_not_counted_as_done() -> None:
    assert [line.id for line in LINES if line.kind == "H" and "::" in line.proof] == []
