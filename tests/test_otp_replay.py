"""Every recorded OTP scenario, replayed on a fresh node."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from otp_replay.bent import WITHOUT_MEANING
from otp_replay.replay import replay
from otp_replay.scenario import files, load

SCENARIOS = files(Path(__file__).parent / "otp_scenarios")
SLACK = float(os.environ.get("OTP_REPLAY_SLACK", "1"))


@pytest.mark.parametrize("path", SCENARIOS, ids=[path.stem for path in SCENARIOS])
def test_it_happens_as_recorded(path: Path) -> None:
    scenario = load(path)
    if scenario.name in WITHOUT_MEANING:
        pytest.skip(WITHOUT_MEANING[scenario.name])

    problems = replay(scenario, slack=SLACK)

    assert not problems, "\n".join([scenario.doc, *problems])
