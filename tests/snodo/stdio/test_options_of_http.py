"""There is no authorization over stdio: the options of HTTP are refused, and say what to do."""

from __future__ import annotations

from dataclasses import fields

import pytest

import snodo_actors as snodo
from snodo_actors.words.http_options import HttpOptions


@pytest.mark.parametrize("name", [field.name for field in fields(HttpOptions)])
def test_an_option_of_http_is_none_of_stdio(name: str) -> None:
    with pytest.raises(TypeError, match=f"^{name} is for HTTP targets; .* write env="):
        snodo.connect(("stdio", "true", []), **{name: None})
    with pytest.raises(TypeError, match=f"^{name} is for HTTP targets"):
        snodo.child_spec("tools", ("stdio", "true", []), **{name: None})
