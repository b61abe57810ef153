from __future__ import annotations

from snodo_actors.oauth.machines.page import refusal, thanks


def test_the_page_runs_nothing_and_is_kept_nowhere() -> None:
    headers, body = thanks()
    named = dict(headers)

    assert named["content-security-policy"].startswith("default-src 'none'")
    assert named["cache-control"] == "no-store"
    assert named["referrer-policy"] == "no-referrer"
    assert int(named["content-length"]) == len(body)
    assert b"<script" not in body
    assert b"close this window" in body


def test_a_refusal_says_why_in_plain_text() -> None:
    headers, body = refusal(404, "<b>x</b>")

    assert b"&lt;b&gt;x&lt;/b&gt;" in body
    assert "allow" not in dict(headers)


def test_another_method_is_told_which() -> None:
    assert dict(refusal(405, "x")[0])["allow"] == "GET"
