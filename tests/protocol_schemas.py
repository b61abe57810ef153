"""The published schemas of the protocol, to check messages against."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

FOLDER = Path(__file__).parent / "schemas"


@cache
def _validator(version: str, name: str) -> Any:
    schema = json.loads((FOLDER / version / "schema.json").read_text())
    place = "$defs" if "$defs" in schema else "definitions"
    kind = jsonschema.validators.validator_for(schema)
    return kind({**schema, "$ref": f"#/{place}/{name}"})


def check(message: Any, version: str, name: str) -> None:
    """Fail unless *message* is a *name* of *version*."""
    _validator(version, name).validate(message)


def examples(name: str) -> list[Any]:
    """Read the published examples of *name*."""
    folder = FOLDER / "2026-07-28" / "examples" / name
    return [json.loads(path.read_text()) for path in sorted(folder.iterdir())]
