from __future__ import annotations

from pathlib import Path

import pytest

from snodo_actors.words.stdio_options import StdioOptions


def test_defaults() -> None:
    options = StdioOptions()

    assert (options.env, options.cd, options.stderr, options.owner) == ((), None, "capture", None)
    assert (options.max_line_bytes, options.max_server_requests) == (16_777_216, 16)


@pytest.mark.parametrize(
    ("taken", "given"),
    [
        ({"env": (("A", "1"), ("B", None))}, {"env": [("A", "1"), ("B", None)]}),
        ({"env": (("A", "1"), ("B", None))}, {"env": {"A": "1", "B": None}}),
        ({"env": (("A", "x=y\n"),)}, {"env": {"A": "x=y\n"}}),
        ({"cd": "/somewhere"}, {"cd": "/somewhere"}),
        ({"cd": str(Path("a", "b"))}, {"cd": Path("a", "b")}),
        (
            {"max_line_bytes": 1, "max_server_requests": 1},
            {"max_line_bytes": 1, "max_server_requests": 1},
        ),
        ({"stderr": "inherit"}, {"stderr": "inherit"}),
        ({"stderr": "discard"}, {"stderr": "discard"}),
        ({"stderr": print}, {"stderr": print}),
        ({"owner": "node"}, {"owner": "node"}),
    ],
)
def test_what_is_given_is_taken(taken, given) -> None:
    options = StdioOptions(**given)

    assert {name: getattr(options, name) for name in taken} == taken


@pytest.mark.parametrize(
    ("error", "text", "options"),
    [
        (TypeError, "env must be a mapping or a list of pairs", {"env": "A=1"}),
        (TypeError, "env must be a mapping or a list of pairs", {"env": ["A=1"]}),
        (TypeError, "env must be strings", {"env": {"A": 1}}),
        (TypeError, "env must be strings", {"env": {1: "A"}}),
        (ValueError, "no environment can hold", {"env": {"": "1"}}),
        (ValueError, "no environment can hold", {"env": {"A=B": "1"}}),
        (ValueError, "no environment can hold", {"env": {"A\0": None}}),
        (ValueError, "no environment can hold", {"env": {"A": "\0"}}),
        (TypeError, "cd must be a string or a path", {"cd": b"/x"}),
        (TypeError, "cd must be a string or a path", {"cd": 5}),
        (ValueError, "max_line_bytes must be", {"max_line_bytes": 0}),
        (TypeError, "max_server_requests must be", {"max_server_requests": "16"}),
        (ValueError, "stderr must be", {"stderr": "log"}),
        (ValueError, "stderr must be", {"stderr": None}),
    ],
)
def test_a_wrong_option_is_refused(error, text, options) -> None:
    with pytest.raises(error, match=text):
        StdioOptions(**options)
