"""Adds our actor to the runtimes that pykka's tests run with."""

from __future__ import annotations

import threading
import time

import pytest
import supervisors


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "runtime" not in metafunc.fixturenames:
        return
    from tests.conftest import RUNTIMES
    from tests.types import Runtime

    loop = Runtime(
        name="loop",
        actor_class=supervisors.Actor,
        event_class=threading.Event,
        future_class=supervisors.Future,
        sleep_func=time.sleep,
    )
    RUNTIMES.setdefault("loop", pytest.param(loop, id="loop"))
    # The fixture's own list of parameters was read when its decorator ran; a mark goes before it.
    metafunc.definition.add_marker(
        pytest.mark.parametrize("runtime", RUNTIMES.values(), indirect=True)
    )
