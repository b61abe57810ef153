"""Replays what a real Erlang/OTP was seen to do, against `supervisors`.

`python -m tests.otp_replay FOLDER` replays every scenario of a folder; a scenario is one recorded
run: a supervision tree, the steps done to it, and everything that was seen to happen.
"""
