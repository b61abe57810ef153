"""A small MCP server in the same Python process: functions, and the decorators that offer them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypedDict, TypeVar, Unpack

from snodo_actors.server.changes import Changes
from snodo_actors.server.introduction import Served
from snodo_actors.server.making import make_prompt, make_resource, make_template, make_tool
from snodo_actors.server.offers import CacheScope, Freshness, Offers
from snodo_actors.server.runtime import Runtime, read_versions
from snodo_actors.server.signature import Signature
from snodo_actors.server.tables import Tables
from snodo_actors.words.checks import positive, text
from snodo_actors.words.types import JSONObject

F = TypeVar("F", bound=Callable[..., Any])
Offer = Callable[[F], F]
"""A decorator that leaves the function as it is."""


class About(TypedDict, total=False):
    """What may be said of everything that is offered; `meta` goes out as `_meta`."""

    title: str
    description: str
    annotations: Mapping[str, Any]
    icons: Sequence[Mapping[str, Any]]
    meta: Mapping[str, Any]


class Server(Changes):
    """An MCP server made of functions, plain or async.

    They run where the client's call is awaited. One that has a parameter of the type `Call` gets
    the call it answers. *about* is what the server says of itself: title, description, websiteUrl,
    icons. *ttl* (seconds) and *cache_scope* say how long clients may keep lists and what they read.

    Raises:
        TypeError: An argument has the wrong type.
        ValueError: *page_size* is less than one.
    """

    def __init__(
        self,
        name: str,
        version: str = "0",
        *,
        about: Mapping[str, Any] | None = None,
        instructions: str | None = None,
        page_size: int | None = None,
        ttl: float = 0.0,
        cache_scope: CacheScope = "private",
        extensions: Mapping[str, JSONObject] | None = None,
    ) -> None:
        own = {"name": text("name", name), "version": text("version", version)}
        self._info: JSONObject = {**own, **(about or {})}
        self._instructions = instructions
        self._extensions = dict(extensions or {})
        size = None if page_size is None else positive("page_size", page_size)
        super().__init__(Tables(Offers(page_size=size, freshness=Freshness(ttl, cache_scope))))

    def __repr__(self) -> str:
        return f"<Server {self._info['name']}>"

    def runtime(self, versions: Iterable[str] | str | None = None) -> Runtime:
        """The server with these protocol *versions* enabled, None for all; `direct` takes it.

        Raises:
            ValueError: A version is not known, or there is none.
        """
        tables = self._tables
        return Runtime(
            Served(
                info=self._info,
                versions=read_versions(versions),
                offers=lambda: tables.offers,
                feeds=tables.feeds,
                instructions=self._instructions,
                extensions=self._extensions,
            )
        )

    # ---- what is offered

    def tool(
        self,
        name: str | None = None,
        *,
        input_schema: Mapping[str, Any] | None = None,
        output_schema: Mapping[str, Any] | None = None,
        structured: bool = True,
        **about: Unpack[About],
    ) -> Offer[F]:
        """Offer the decorated function as a tool.

        Its parameters are the arguments, and its hints their schema; with *input_schema* it gets
        the arguments unchecked, as one dict. What it returns goes out as content: text, blocks
        (`text`, `image`, ...), a `ToolResult`, or anything with a form in JSON. The latter goes out
        as structured content too if the return type, or *output_schema*, says what it is, and
        *structured* is not false. What it raises goes out as a result that says it is an error.

        Raises:
            TypeError: The hints cannot be read, or have no form in JSON.
            ValueError: There is such a tool already.
        """
        _check_use("tool()", name)

        def offer(function: F) -> F:
            tool = make_tool(
                function, name, about, input_schema, output_schema, structured=structured
            )
            self._tables.add("tools", tool.definition["name"], tool)
            return function

        return offer

    def resource(
        self,
        uri: str,
        name: str | None = None,
        *,
        mime_type: str | None = None,
        size: int | None = None,
        ttl: float | None = None,
        cache_scope: CacheScope | None = None,
        **about: Unpack[About],
    ) -> Offer[F]:
        """Offer what the decorated function returns as the resource at *uri*.

        Text and bytes are contents; so are `contents(...)`, one or a list of them; anything else
        goes out as JSON. None means that there is nothing now.

        Raises:
            TypeError: The function takes more than the call.
            ValueError: There is such a resource already.
        """
        _check_use('resource("uri")', uri)
        fields = {**about, "mimeType": mime_type, "size": size}

        def offer(function: F) -> F:
            fresh = self._freshness(ttl, cache_scope)
            resource = make_resource(function, uri, name, fields, fresh)
            self._tables.add("resources", uri, resource)
            return function

        return offer

    def resource_template(
        self,
        uri_template: str,
        name: str | None = None,
        *,
        mime_type: str | None = None,
        ttl: float | None = None,
        cache_scope: CacheScope | None = None,
        **about: Unpack[About],
    ) -> Offer[F]:
        """Offer resources at all URIs of the form *uri_template*, such as `notes://{id}`.

        The parts of the URI are the parameters of the function; see `resource` for what it returns.

        Raises:
            TypeError: The parts are not the parameters.
            ValueError: It is no template, or there is such a template already.
        """
        _check_use('resource_template("uri://{part}")', uri_template)
        fields = {**about, "mimeType": mime_type}

        def offer(function: F) -> F:
            fresh = self._freshness(ttl, cache_scope)
            template = make_template(function, uri_template, name, fields, fresh)
            self._tables.add("templates", uri_template, template)
            return function

        return offer

    def prompt(
        self,
        name: str | None = None,
        *,
        arguments: Mapping[str, str] | None = None,
        **about: Unpack[About],
    ) -> Offer[F]:
        """Offer what the decorated function returns as a prompt: a text, a message, or several.

        Its parameters are the arguments, which are strings; *arguments* describes them.

        Raises:
            TypeError: The hints cannot be read.
            ValueError: There is such a prompt already.
        """
        _check_use("prompt()", name)

        def offer(function: F) -> F:
            prompt = make_prompt(function, name, about, arguments or {})
            self._tables.add("prompts", prompt.definition["name"], prompt)
            return function

        return offer

    def completion(
        self, argument: str, *, prompt: str | None = None, template: str | None = None
    ) -> Offer[F]:
        """Let the decorated function complete *argument* of a *prompt* or of a *template*.

        It gets what was typed and, if it takes a second value, the arguments that are settled; it
        returns a list of strings, or a `Completion`.

        Raises:
            ValueError: Neither or both are given, or there is one already.
        """
        if (prompt is None) == (template is None):
            raise ValueError("completion() is for a prompt= or for a template=")
        kind, what = ("ref/prompt", prompt) if prompt is not None else ("ref/resource", template)

        def offer(function: F) -> F:
            signature = Signature(function, f"completion of {what}")
            self._tables.add("completions", (kind, what, argument), signature)
            return function

        return offer

    def method(self, method: str) -> Offer[F]:
        """Let the decorated function answer the request *method* of an extension.

        It gets the params as a dict and returns the result as one.

        Raises:
            ValueError: There is such a method already.
        """

        def offer(function: F) -> F:
            self._tables.add("methods", method, Signature(function, f"method {method}"))
            return function

        return offer

    def _freshness(self, ttl: float | None, scope: CacheScope | None) -> Freshness:
        own = self._tables.offers.freshness
        return Freshness(own.ttl if ttl is None else ttl, scope or own.scope)


def _check_use(use: str, name: Any) -> None:
    """Refuse a decorator that was not called: it would take the function for a name."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"a name is a string, not {name!r}: write @server.{use}")
