from __future__ import annotations

import anyio
import pytest

from snodo_actors.oauth.race import race


async def nothing() -> None:
    return None


async def one() -> str:
    return "one"


async def fail() -> str:
    raise ZeroDivisionError


async def test_the_first_answer_ends_the_others() -> None:
    ended = anyio.Event()

    async def never() -> str:
        try:
            await anyio.sleep_forever()
        finally:
            ended.set()
        return "never"

    assert await race(never, nothing, one) == "one"
    assert ended.is_set()


async def test_an_error_ends_them_too_and_comes_as_it_is() -> None:
    with pytest.raises(ZeroDivisionError):
        await race(anyio.sleep_forever, fail)


async def test_who_is_cancelled_ends_all() -> None:
    with anyio.move_on_after(0.01) as scope:
        await race(anyio.sleep_forever, nothing)

    assert scope.cancelled_caught
