"""How a server proves who it is, and how we do, where that is not the usual way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from snodo_actors.words.checks import boolean, mapping, path

Password: TypeAlias = str | bytes | Callable[[], str | bytes]


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """What is unusual about TLS; the files are PEM.

    Args:
        cafile: A file with the certificates of the authorities to trust, in place of the system's.
        capath: A directory of them, as OpenSSL's `rehash` makes it.
        cert: Our own certificate, and those that lead to its authority.
        key: Its private key; without it, that is in the file of *cert* too.
        password: What the key is encrypted with, or a function that gives it.
        verify: Whether the certificate of the server is looked at at all.
        check_hostname: Whether it has to be for the host of the URL.
    """

    cafile: str | None = None
    capath: str | None = None
    cert: str | None = None
    key: str | None = None
    password: Password | None = field(default=None, repr=False)
    verify: bool = True
    check_hostname: bool = True


_NAMES: Final = tuple(option.name for option in fields(TlsOptions))
_EXAMPLES: Final = 'write ssl="ca.pem", or ssl={"cafile": "ca.pem", "cert": "client.pem"}'


def read_tls_options(value: Any) -> TlsOptions:
    """Read a path, or a mapping of options.

    Raises:
        TypeError: It is neither, or has an option of a wrong type.
        ValueError: It has an option there is not, or a key without a certificate.
    """
    if isinstance(value, TlsOptions):
        return value
    if isinstance(value, str) or hasattr(value, "__fspath__"):
        return TlsOptions(cafile=path("ssl", value))
    if not hasattr(value, "items"):
        raise TypeError(
            f"ssl must be an ssl.SSLContext, a path or a mapping, not {value!r}: {_EXAMPLES}"
        )
    given = mapping("ssl", value)
    unknown = given.keys() - set(_NAMES)
    if unknown:
        raise ValueError(f"ssl has no option {min(unknown)!r}, only {', '.join(_NAMES)}")
    for name in ("cafile", "capath", "cert", "key"):
        if given.get(name) is not None:
            given[name] = path(f"ssl {name}", given[name])
    for name in ("verify", "check_hostname"):
        if name in given:
            boolean(f"ssl {name}", given[name])
    password = given.get("password")
    if password is not None and not isinstance(password, str | bytes) and not callable(password):
        raise TypeError("ssl password must be a string, bytes, or a function that gives one")
    if given.get("key") is not None and given.get("cert") is None:
        raise ValueError(f"ssl has a key without a certificate: {_EXAMPLES}")
    return TlsOptions(**given)
