"""The failures of one transport: their codes, texts and causes.

stdio first, then HTTP, then subscriptions, then the in-process server.
"""

from __future__ import annotations

from typing import Any

from snodo_actors.words.errors import Delivery, Error, RefusedHeader, TransportError

_BODY_SHOWN = 512


def _lost(message: str, cause: Any, delivery: Delivery) -> TransportError:
    return TransportError(-32000, message, cause=cause, delivery=delivery)


# stdio


def command_not_found(command: str) -> TransportError:
    """No executable file of that name is on the PATH."""
    return _lost(f"no such executable: {command!r}; check the PATH", "enoent", "never_sent")


def could_not_start(command: str, reason: BaseException) -> TransportError:
    """The operating system refused to run the command."""
    return _lost(f"could not start {command!r}: {reason}", reason, "never_sent")


def server_exited(
    status: int, stderr: str = "", *, signal: str | None = None, delivery: Delivery = "unknown"
) -> TransportError:
    """The server process ended; *stderr* is the end of what it wrote there.

    *signal* is the number and the name of the signal that ended it.
    """
    how = f"exited with status {status}" if signal is None else f"was killed by signal {signal}"
    said = f"\nlast lines of its stderr:\n{stderr.rstrip()}" if stderr.strip() else ""
    return _lost(f"the server process {how}{said}", ("exit_status", status), delivery)


def pipe_failed(reason: Any, *, delivery: Delivery = "unknown") -> TransportError:
    """A pipe to the server process broke."""
    return _lost(f"the pipe to the server failed: {reason}", ("port_exit", reason), delivery)


def not_accepting_input() -> TransportError:
    """The server process took no more input when the call came."""
    return _lost("the server does not accept input any more", "closed", "never_sent")


def connection_closed(reason: Any, *, delivery: Delivery = "unknown") -> TransportError:
    """The connection ended for *reason*, an exit reason or ``"closed"``."""
    return _lost("the connection is closed", reason, delivery)


def owner_ended(owner: str, reason: Any, *, delivery: Delivery = "never_sent") -> TransportError:
    """The process the connection belonged to ended, and the connection with it."""
    return _lost(
        f"the connection closed when its owner, {owner}, ended ({reason}); "
        "to keep it open longer, connect with owner= another process or the node",
        ("owner_ended", owner, reason),
        delivery,
    )


def line_too_long(limit: int) -> TransportError:
    """A line of the server was longer than max_line_bytes."""
    return _lost(
        f"the server sent a line of more than {limit} bytes; raise max_line_bytes to accept it",
        ("max_line_bytes", limit),
        "answered",
    )


# HTTP


def bad_url(url: Any) -> TransportError:
    """The target is not an http or https URL with a host."""
    return _lost(f"not an http or https URL: {url!r}", url, "never_sent")


def bad_tls(reason: Any) -> TransportError:
    """A file that the option ``ssl`` names is not there, or is not what it should be."""
    return _lost(f"the option ssl cannot be used: {reason}", ("ssl", reason), "never_sent")


def bad_proxy(proxy: str, why: str) -> TransportError:
    """The proxy of the option or of the environment is none we can use; *proxy* has no password."""
    return _lost(f"the proxy {proxy!r} cannot be used: {why}", ("proxy", proxy), "never_sent")


def bad_header(name: Any) -> TransportError:
    """A header cannot be sent, or is one the transport sets itself; its value is not shown."""
    return _lost(f"the header {name!r} is refused", name, "never_sent")


def refused_header(name: str, why: str) -> RefusedHeader:
    """A header among the options is refused; its value is not shown."""
    return RefusedHeader(-32000, why, cause=name, delivery="never_sent")


def bad_extension(extension: Any, reason: BaseException | None = None) -> TransportError:
    """The extension does not own the request, or its policy failed with *reason*."""
    why = "it does not own the method, or gives no valid policy" if reason is None else repr(reason)
    failure = _lost(f"the extension cannot send this request: {why}", extension, "never_sent")
    failure.__cause__ = reason
    return failure


def could_not_connect(reason: Any) -> TransportError:
    """No connection to the server was made, in time or at all."""
    return _lost(f"could not connect: {reason}", ("failed_connect", reason), "never_sent")


def exchange_failed(reason: Any, *, delivery: Delivery = "unknown") -> TransportError:
    """Sending or reading failed, or the connection closed in the middle."""
    return _lost(f"the request failed: {reason}", reason, delivery)


def malformed_http() -> TransportError:
    """The answer is not HTTP as it should be."""
    return _lost("the server sent a malformed HTTP response", "malformed", "answered")


def response_too_large(limit: int) -> TransportError:
    """The answer, or one event of a subscription, passed max_response_bytes."""
    return _lost(
        f"the response is larger than {limit} bytes; raise max_response_bytes to accept it",
        ("max_response_bytes", limit),
        "answered",
    )


def content_coded(coding: str) -> TransportError:
    """The answer is compressed, which was not asked for."""
    return _lost(
        f"the response has the content coding {coding!r}, which was not asked for",
        ("content_encoding", coding),
        "answered",
    )


def not_json_rpc(status: int, body: bytes | bytearray) -> TransportError:
    """The answer is no JSON-RPC message; a redirect is one of these."""
    shown = f" saying {body[:80].decode('utf-8', 'replace')!r}" if body else ""
    hint = "; redirects are not followed, connect to the final URL" if 300 <= status < 400 else ""
    return _lost(
        f"the server answered with HTTP status {status}{shown}, not a JSON-RPC message{hint}",
        ("http_status", status, bytes(body[:_BODY_SHOWN])),
        "answered",
    )


def session_lost(body: bytes = b"") -> TransportError:
    """The server answered 404 to a new session too."""
    return _lost(
        "the server ended the session, and answered 404 in a new one too",
        ("http_status", 404, body[:_BODY_SHOWN]),
        "answered",
    )


def answer_not_delivered(failure: Error) -> TransportError:
    """The answer to a request of the server could not be handed over."""
    return _lost(
        f"the answer to a request of the server was not delivered: {failure.message}",
        failure,
        "unknown",
    )


def invalid_token() -> TransportError:
    """The token provider gave something that is no bearer token; it is not shown."""
    return _lost("the token provider gave an invalid token", "invalid_token", "never_sent")


def provider_failed(reason: Exception, token: str | None) -> TransportError:
    """The token provider raised *reason*, which is not shown if its text has the *token*."""
    kind = type(reason).__name__
    if token is not None and token in f"{reason} {reason!r}":
        said = f"the token provider raised {kind}, whose text has the token in it"
        return _lost(said, ("token_provider", kind), "never_sent")
    return _lost(f"the token provider raised {kind}: {reason}", reason, "never_sent")


def provider_timed_out(limit: float) -> TransportError:
    """The token provider gave nothing within *limit* seconds."""
    return _lost(
        f"the token provider gave no token within {limit:g} s, and was stopped",
        ("token_provider", "timeout"),
        "never_sent",
    )


def invalid_authorization() -> TransportError:
    """The token provider gave headers that cannot be sent, or are not its; they are not shown."""
    return _lost(
        "authorize() of the token provider gave something other than pairs of the name and the "
        "value of a header that can be sent, and that the transport does not set itself",
        ("token_provider", "authorize"),
        "never_sent",
    )


def unauthorized(status: int, challenge: Any) -> TransportError:
    """The server refused the refreshed token too."""
    return _lost(
        f"the server refused the refreshed token with HTTP status {status}",
        ("unauthorized", status, challenge),
        "answered",
    )


# Subscriptions


def malformed_acknowledgement(cause: Any) -> TransportError:
    """The acknowledgement names no accepted filter."""
    return _lost("the server acknowledged the subscription without a filter", cause, "answered")


def ended_before_acknowledging(cause: Any = "ended") -> TransportError:
    """The stream ended before the server acknowledged it; *cause* is its response, if any."""
    return _lost("the server ended the stream before acknowledging it", cause, "answered")


def stream_asked_for_input(result: Any) -> TransportError:
    """The stream ended with a wish for input, which a stream cannot have."""
    return _lost("the server ended the stream by asking for input", result, "answered")


def stream_closed() -> TransportError:
    """The server closed the connection of an acknowledged stream without ending it."""
    return _lost("the server closed the connection of the stream", "closed", "answered")


def stream_crashed(reason: Any) -> TransportError:
    """The actor that reads or holds the stream ended with *reason*."""
    return _lost("the process of the stream exited", reason, "answered")


def stream_ended() -> TransportError:
    """The stream was at its end, or closed by us, before it was asked for more."""
    return _lost("the subscription has ended", "closed", "never_sent")


# The in-process server


def unexpected_outcome(outcome: Any) -> TransportError:
    """The server object answered a notification, or gave no response where one is due."""
    return _lost("the in-process server gave an unexpected outcome", outcome, "answered")
