"""What a server offers no longer, and what clients that listen are told.

Adding and removing tells them by itself.
"""

from __future__ import annotations

from snodo_actors.server.feeds import (
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
)
from snodo_actors.server.tables import Tables
from snodo_actors.words.checks import text


class Changes:
    """The changes of one server; any thread may make them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def remove_tool(self, name: str) -> None:
        """Offer a tool no longer; KeyError if there is none."""
        self._tables.remove("tools", name)

    def remove_resource(self, uri: str) -> None:
        """Offer a resource or a template no longer; KeyError if there is none."""
        resources = self._tables.offers.resources
        self._tables.remove("resources" if uri in resources else "templates", uri)

    def remove_prompt(self, name: str) -> None:
        """Offer a prompt no longer; KeyError if there is none."""
        self._tables.remove("prompts", name)

    def tools_changed(self) -> None:
        """Tell them that the tools are others now."""
        self._tables.feeds.publish(TOOLS_CHANGED)

    def prompts_changed(self) -> None:
        """Tell them that the prompts are others now."""
        self._tables.feeds.publish(PROMPTS_CHANGED)

    def resources_changed(self) -> None:
        """Tell them that there are other resources now."""
        self._tables.feeds.publish(RESOURCES_CHANGED)

    def resource_updated(self, uri: str) -> None:
        """Tell those that listen to *uri* that it reads differently now."""
        self._tables.feeds.publish(RESOURCE_UPDATED, {"uri": text("uri", uri)})

    def end_subscriptions(self) -> None:
        """End every stream of events."""
        self._tables.feeds.end()
