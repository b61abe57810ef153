"""An authority of the tests' own, and the certificates of servers and clients that it made."""

from __future__ import annotations

import datetime as dt
import ssl
from pathlib import Path

import trustme

NOW = dt.datetime.now(dt.UTC)


class Authority:
    """Makes certificates; its own is in a file."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._ca = trustme.CA()
        self.folder = folder
        self.file = str(folder / f"{name}.pem")
        self._ca.cert_pem.write_to_path(self.file)

    def server(self, *names: str, expired: bool = False, asks: Authority | None = None, **limits):
        """The context of a server called *names*, which may ask clients who they are."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_alpn_protocols(["h2", "http/1.1"])
        for name, value in limits.items():
            setattr(context, name, value)
        until = NOW - dt.timedelta(days=1) if expired else None
        self._ca.issue_cert(*(names or ("127.0.0.1",)), not_after=until).configure_cert(context)
        if asks is not None:
            context.load_verify_locations(asks.file)
            context.verify_mode = ssl.CERT_REQUIRED
        return context

    def client(self, password: bytes | None = None) -> tuple[str, str]:
        """The files of a client's certificate and key."""
        made = self._ca.issue_cert("client.test")
        cert, key = self.folder / "client.pem", self.folder / "client.key"
        cert.write_bytes(b"".join(pem.bytes() for pem in made.cert_chain_pems))
        key.write_bytes(made.private_key_pem.bytes())
        if password is not None:
            key.write_bytes(_encrypted(key.read_bytes(), password))
        return str(cert), str(key)


def _encrypted(key: bytes, password: bytes) -> bytes:
    from cryptography.hazmat.primitives import serialization

    return serialization.load_pem_private_key(key, None).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.BestAvailableEncryption(password),
    )
