"""A notification of the caller's on its way, and the future that tells that it went out."""

from __future__ import annotations

from snodo_actors.actors.request import Profile, Request
from snodo_actors.wire import codec, jsonrpc
from snodo_actors.wire.catalog import notification_refusal
from snodo_actors.words.capabilities import check_roots_change
from snodo_actors.words.errors import Error


class Notice(Request):
    """Travels as a request does; nobody answers it, so its result is None once it is sent."""

    __slots__ = ()

    def prepare(self, profile: Profile) -> Error | None:
        """Make the line to send on a connection of this *profile*, or say why it is refused.

        Raises:
            ValueError: The client's capabilities say that it does not send it.
        """
        refused = notification_refusal(self.method, profile.version)
        if refused is not None:
            return refused.named(self.who)
        check_roots_change(profile.capabilities)
        self.profile = profile
        message = jsonrpc.notification(self.method, self.params)
        self.line = codec.encode_ascii(message) + b"\n"
        return self._prepare_head(profile, self.params) if profile.has_head else None
