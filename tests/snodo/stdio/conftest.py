"""Places for the client and servers that misbehave, as the tests of the cases have them."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_CASES = Path(__file__).parents[1] / "cases" / "conftest.py"
_spec = importlib.util.spec_from_file_location("fixtures_of_the_cases", _CASES)
assert _spec is not None
assert _spec.loader is not None
_fixtures = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_fixtures)

at = _fixtures.at
server_of = _fixtures.server_of
pytest_generate_tests = _fixtures.pytest_generate_tests
