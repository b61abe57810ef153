"""The tree is in order: no foreign places, one version, documents that can be followed."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("supervisors", "snodo_actors")
PYKKA_S = ROOT / "tests" / "vendor" / "pykka" / "tests"
NOT_OURS = {".git", ".venv", ".hypothesis", "build", "dist", "htmlcov", "__pycache__"}

# A letter in brackets keeps a pattern from finding itself.
FOREIGN = {
    "a machine's path": r"(?<![\w.])/(?:[w]ork|[r]oot|[h]ome/(?!user/)\w+|[o]pt|tmp/[d]ev)/",
    "a folder outside the project": r"\.\./[s]hared\b|(?<![\w/])[s]hared/\w+/",
    "a package registry": r"(?i)[p]ypi\.org|[p]ythonhosted|[n]pmjs|[d]eb\.debian|[c]rates\.io",
    "where it was made": r"(?i)\b(?:[C]EO|[f]ounder|[w]orkplace|[s]ubagent|helper [s]ession)\b",
    "an issue's number": r"(?i)\b(?:[i]ssues?|tickets?|pull requests?) #?\d",
}


def files(top: Path = ROOT) -> Iterator[Path]:
    for folder, folders, names in os.walk(top):
        folders[:] = [
            f for f in folders if f not in NOT_OURS and not f.endswith(("_cache", ".egg-info"))
        ]
        yield from (Path(folder, name) for name in names if not name.startswith(".coverage"))


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def version() -> str:
    return tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]["version"]


def documents() -> list[Path]:
    return sorted(path for path in files() if path.suffix == ".md")


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("what", FOREIGN)
def test_nothing_names(what: str) -> None:
    found = [
        f"{named(path)}:{number}: {line.strip()[:120]}"
        for path in files()
        if not path.is_relative_to(PYKKA_S)
        for number, line in enumerate(
            path.read_text(encoding="utf-8", errors="replace").splitlines(), 1
        )
        if re.search(FOREIGN[what], line)
    ]

    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_the_distribution_s_version(package: str) -> None:
    assert version() == importlib.import_module(package).__version__


def test_the_changelog_tells_of_the_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

    assert f"## {project['version']}" in (ROOT / "CHANGELOG.md").read_text(
        encoding="utf-8"
    ).replace("[", "")


@pytest.mark.parametrize("package", PACKAGES)
def test_a_file_says_first_what_it_knows(package: str) -> None:
    silent = [
        named(path)
        for path in files(ROOT / package)
        if path.suffix == ".py" and not ast.get_docstring(ast.parse(text_of(path)))
    ]

    assert silent == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_is_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").is_file()


def test_the_readme_s_two_commands_do_all_of_their_set_up() -> None:
    script = ROOT / ".ci" / "readme_commands.py"
    spec = importlib.util.spec_from_file_location("readme_commands", script)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    commands = module.commands(text_of(ROOT / "README.md"))

    assert len(commands) == 2
    for command in commands:
        assert command.startswith("python3 -m venv .venv && ")
        assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0


@pytest.mark.parametrize("path", documents(), ids=named)
def test_a_document_s_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"```.*?```", "", text_of(path), flags=re.DOTALL)
    links = re.findall(r"\]\((?![a-z]+://)([^)#\s]+)", text)

    assert [link for link in links if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", documents(), ids=named)
def test_a_document_s_python_is_python(path: Path) -> None:
    for block in re.findall(r"```python\n(.*?)```", text_of(path), re.DOTALL):
        compile(block, named(path), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


def test_no_folder_of_tests_is_a_package_of_the_project_s_name() -> None:
    # `tests` is on the path: such a package would be imported instead of the project's.
    assert [p for p in PACKAGES if (ROOT / "tests" / p / "__init__.py").exists()] == []
