"""Servers over HTTP for connections that are killed, closed and started again."""

from __future__ import annotations

from http_fixtures import serve, server

__all__ = ["serve", "server"]
