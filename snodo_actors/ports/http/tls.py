"""TLS contexts, one for all clients with equal options: each holds every authority it trusts."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias
from weakref import WeakValueDictionary

from snodo_actors.words.tls_options import TlsOptions

_Key: TypeAlias = tuple[TlsOptions, tuple[Any, ...]]

_lock = threading.Lock()
_shared: WeakValueDictionary[_Key, ssl.SSLContext] = WeakValueDictionary()
_usual: Final = TlsOptions()
_kept: list[ssl.SSLContext] = []
"""The usual one, which most clients use: it is made once."""


def read_tls(given: ssl.SSLContext | TlsOptions | None) -> ssl.SSLContext:
    """Find the context for what the option `ssl` is, or make it.

    Raises:
        OSError: A file is not there, or is not what it should be.
    """
    if given is not None and not isinstance(given, TlsOptions):
        return given
    options = given or _usual
    key = (options, tuple(_stamp(name) for name in (options.cafile, options.cert, options.key)))
    with _lock:
        context = _shared.get(key)
        if context is None:
            context = _shared[key] = _make(options)
            if options == _usual:
                _kept.append(context)
        return context


def _stamp(file: str | None) -> Any:
    """What changes when *file* does, as certificates do that are renewed."""
    if file is None:
        return None
    try:
        found = Path(file).stat()
    except OSError as error:
        raise OSError(error.errno, f"{file}: {error.strerror}") from error
    return found.st_mtime_ns, found.st_size, found.st_ino


def _make(options: TlsOptions) -> ssl.SSLContext:
    if options.verify:
        context = _verifying(options.cafile, options.capath)
        context.check_hostname = options.check_hostname
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION  # so that no write ever has to wait for a read
    if options.cert is not None:
        password = "" if options.password is None else options.password  # else OpenSSL asks for it
        with _telling_of(options.cert):
            context.load_cert_chain(options.cert, options.key, password)
    return context


def _verifying(cafile: str | None, capath: str | None) -> ssl.SSLContext:
    if cafile is not None and capath is None and Path(cafile).is_dir():
        cafile, capath = None, cafile
    with _telling_of(cafile or capath):
        context = ssl.create_default_context(cafile=cafile, capath=capath)
    if cafile is None and capath is None and not _has_authorities(context):
        # A Python that does not know where this system keeps them.
        import certifi  # noqa: PLC0415  # comes with httpx

        context.load_verify_locations(certifi.where())
    return context


def _has_authorities(context: ssl.SSLContext) -> bool:
    return context.cert_store_stats()["x509_ca"] > 0 or bool(ssl.get_default_verify_paths().capath)


@contextmanager
def _telling_of(file: str | None) -> Generator[None]:
    """Name the file in what OpenSSL says, which does not."""
    try:
        yield
    except ssl.SSLError as error:
        reason = error.reason and error.reason.replace("_", " ").lower()
        reason = reason or "not what it should be, or encrypted with another password"
        raise OSError(error.errno, f"{file}: {reason}") from error
    except OSError as error:
        raise OSError(error.errno, f"{file}: {error.strerror}") from error
