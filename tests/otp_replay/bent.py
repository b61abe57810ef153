"""What Python cannot mean, or means in another form."""

from __future__ import annotations

from typing import Final

from .scenario import Json

WITHOUT_MEANING: Final[dict[str, str]] = {}
"""Scenarios that are not replayed, with the reason why Python has nothing to answer to them."""


def bend(said: Json) -> Json:
    """Give what Python says where OTP says *said*.

    `{"EXIT": Reason}`: OTP's start functions fail by returning an error, and one that raises is
    told apart. Python's start functions fail by raising, so both are the same.
    """
    match said:
        case {"EXIT": reason, **rest} if not rest and not isinstance(reason, list):
            return bend(reason)
        case dict():
            return {key: bend(value) for key, value in said.items()}
        case list():
            return [bend(item) for item in said]
        case _:
            return said
