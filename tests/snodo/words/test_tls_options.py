from __future__ import annotations

from pathlib import Path

import pytest

from snodo_actors.words.tls_options import TlsOptions, read_tls_options


@pytest.mark.parametrize(
    ("taken", "given"),
    [
        (TlsOptions(), {}),
        (TlsOptions(cafile="ca.pem"), "ca.pem"),
        (TlsOptions(cafile="ca.pem"), Path("ca.pem")),
        (TlsOptions(cafile="ca.pem"), TlsOptions(cafile="ca.pem")),
        (TlsOptions(cafile="ca.pem", capath="cas"), {"cafile": Path("ca.pem"), "capath": "cas"}),
        (TlsOptions(cert="c.pem", key="k.pem"), {"cert": Path("c.pem"), "key": Path("k.pem")}),
        (TlsOptions(cert="c.pem", password="p"), {"cert": "c.pem", "password": "p"}),
        (TlsOptions(cert="c.pem", password=b"p"), {"cert": "c.pem", "password": b"p"}),
        (TlsOptions(cert="c.pem", password=input), {"cert": "c.pem", "password": input}),
        (
            TlsOptions(verify=False, check_hostname=False),
            {"verify": False, "check_hostname": False},
        ),
        (TlsOptions(), {"cafile": None, "key": None, "password": None}),
    ],
)
def test_what_is_given_is_taken(taken, given) -> None:
    assert read_tls_options(given) == taken


@pytest.mark.parametrize(
    ("error", "text", "given"),
    [
        (TypeError, "ssl must be an ssl.SSLContext, a path or a mapping, not 5", 5),
        (TypeError, "ssl must be an ssl.SSLContext, a path or a mapping", b"ca.pem"),
        (TypeError, "ssl must be an ssl.SSLContext, a path or a mapping", ["ca.pem"]),
        (ValueError, "ssl has no option 'ca', only cafile, capath, cert", {"ca": "ca.pem"}),
        (TypeError, "ssl must have strings as keys", {5: "ca.pem"}),
        (TypeError, "ssl cafile must be a string or a path", {"cafile": True}),
        (TypeError, "ssl cert must be a string or a path", {"cert": ("c.pem", "k.pem")}),
        (TypeError, "ssl verify must be True or False", {"verify": "no"}),
        (TypeError, "ssl check_hostname must be True or False", {"check_hostname": None}),
        (TypeError, "ssl password must be a string, bytes, or", {"cert": "c.pem", "password": 5}),
        (ValueError, "ssl has a key without a certificate", {"key": "k.pem"}),
    ],
)
def test_a_wrong_option_is_refused(error, text, given) -> None:
    with pytest.raises(error, match=text):
        read_tls_options(given)


def test_a_password_is_not_shown() -> None:
    assert "secret" not in repr(read_tls_options({"cert": "c.pem", "password": "secret"}))
