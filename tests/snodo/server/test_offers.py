"""What can be offered, how functions are read, and what cannot be."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, Optional

import pytest
from everything import STATELESS, VERSIONS, Asker

from snodo_actors.server import Call, InputNeeded, Server
from snodo_actors.server.pages import page
from snodo_actors.server.templates import UriTemplate


@dataclass
class Tree:
    name: str
    left: Optional[Tree] = None  # noqa: UP045  # resolved while the class is made


class Thing:
    def method(self, a: int) -> str:
        """Do a thing."""
        return f"method {a}"

    def __call__(self, a: int) -> str:
        return f"called {a}"


def tool(server: Server, name: str) -> Any:
    listed = Asker(server, STATELESS).ask("tools/list")["tools"]
    return next(tool for tool in listed if tool["name"] == name)


def called(server: Server, name: str, **arguments: Any) -> Any:
    return Asker(server, STATELESS).ask("tools/call", name=name, arguments=arguments)


def test_methods_objects_and_partials_are_functions() -> None:
    server, thing = Server("s"), Thing()
    server.tool()(thing.method)
    server.tool("thing")(thing)
    server.tool("part")(functools.partial(thing.method, a=7))

    assert tool(server, "method")["description"] == "Do a thing."
    assert tool(server, "thing")["inputSchema"]["required"] == ["a"]
    assert called(server, "method", a=1)["content"][0]["text"] == "method 1"
    assert called(server, "thing", a=1)["content"][0]["text"] == "called 1"
    assert called(server, "part")["content"][0]["text"] == "method 7"


def test_a_type_that_holds_itself() -> None:
    server = Server("s")

    @server.tool()
    def turn(tree: Tree) -> Tree:
        return Tree(tree.name, tree)

    definition = tool(server, "turn")
    assert definition["inputSchema"]["properties"]["tree"] == {"$ref": "#/$defs/Tree"}
    assert definition["outputSchema"]["properties"]["result"] == {"$ref": "#/$defs/Tree"}
    result = called(server, "turn", tree={"name": "a"})["structuredContent"]["result"]
    assert result["left"]["name"] == "a"


def test_a_parameter_without_a_hint_takes_anything() -> None:
    server = Server("s")

    @server.tool()
    def anything(a, b=object) -> str:  # type: ignore[no-untyped-def]
        return f"{a} {b is object}"

    schema = tool(server, "anything")["inputSchema"]
    assert schema == {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    assert called(server, "anything", a=[1])["content"][0]["text"] == "[1] True"


def test_a_default_that_can_be_changed_is_the_function_s_own() -> None:
    server = Server("s")
    default = [1, 2]

    @server.tool()
    def same(a: list[int] = default) -> bool:
        return a is default

    assert tool(server, "same")["inputSchema"]["properties"]["a"]["default"] == [1, 2]
    assert called(server, "same")["structuredContent"] == {"result": True}


def test_the_call_may_have_any_name_and_place() -> None:
    server = Server("s")

    @server.tool()
    def versions(of: Call, a: int) -> str:
        return f"{of.version} {a}"

    assert list(tool(server, "versions")["inputSchema"]["properties"]) == ["a"]
    assert called(server, "versions", a=1)["content"][0]["text"] == f"{STATELESS} 1"


def test_structured_content_can_be_left_out() -> None:
    server = Server("s")

    @server.tool(structured=False)
    def number() -> int:
        return 3

    assert "outputSchema" not in tool(server, "number")
    assert "structuredContent" not in called(server, "number")


def test_a_return_type_that_may_ask_is_that_of_the_rest() -> None:
    server = Server("s")

    @server.tool()
    def number() -> int | InputNeeded:
        return 3

    assert tool(server, "number")["outputSchema"]["properties"] == {"result": {"type": "integer"}}


def variadic(*values: int) -> int:
    return len(values)


def positional(a: int, /) -> int:
    return a


def unknown_parameter(a: Thing) -> int:
    return 1


def unknown_return() -> Thing:
    return Thing()


def unread(a: NotThere) -> int:  # type: ignore[name-defined]  # noqa: F821
    return 1


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (variadic, "takes \\*values, which has no schema"),
        (positional, "takes 'a' by position only"),
        (unknown_parameter, "has a parameter without a form in JSON"),
        (unknown_return, "returns a type without a form in JSON"),
        (unread, "the hints of tool unread cannot be read: name 'NotThere'"),
        (lambda: 1, "has no name to be called by"),
    ],
)
def test_a_function_that_is_no_tool(function: Any, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        Server("s").tool()(function)


@pytest.mark.parametrize("name", ["tool", "prompt", "resource", "resource_template"])
def test_a_decorator_has_to_be_called(name: str) -> None:
    with pytest.raises(TypeError, match=f"write @server.{name}"):
        getattr(Server("s"), name)(variadic)


def test_a_resource_takes_nothing_but_the_call() -> None:
    with pytest.raises(TypeError, match="use resource_template"):
        Server("s").resource("a://b")(lambda a: a)


def test_the_parts_of_a_template_are_the_parameters() -> None:
    with pytest.raises(TypeError, match=r"has to take a, and takes b"):
        Server("s").resource_template("a://{a}", "n")(lambda b: b)


def test_a_completion_is_for_one_thing() -> None:
    with pytest.raises(ValueError, match="for a prompt= or for a template="):
        Server("s").completion("a")
    with pytest.raises(ValueError, match="for a prompt= or for a template="):
        Server("s").completion("a", prompt="p", template="t")


def test_nothing_is_offered_twice() -> None:
    server = Server("s")
    server.tool("a")(lambda: "1")

    with pytest.raises(ValueError, match="there is 'a' among the tools already"):
        server.tool("a")(lambda: "2")
    with pytest.raises(KeyError):
        server.remove_tool("b")


def test_what_was_offered_once_is_not_denied_later() -> None:
    server = Server("s")
    server.tool("a")(lambda: "1")
    server.resource("a://b", "b")(lambda: "1")
    server.resource_template("a://{c}/d", "d")(lambda c: c)
    server.prompt("p")(lambda: "1")
    for remove in ("a://b", "a://{c}/d"):
        server.remove_resource(remove)
    server.remove_tool("a")
    server.remove_prompt("p")
    asker = Asker(server, STATELESS)

    assert asker.ask("tools/list")["tools"] == []
    assert asker.ask("resources/list")["resources"] == []
    assert asker.ask("resources/templates/list")["resourceTemplates"] == []
    assert asker.ask("prompts/list")["prompts"] == []


@pytest.mark.parametrize(
    ("versions", "enabled"),
    [
        (None, VERSIONS),
        (STATELESS, (STATELESS,)),
        (reversed(VERSIONS), VERSIONS),
        ([VERSIONS[2], VERSIONS[0]], (VERSIONS[0], VERSIONS[2])),
    ],
)
def test_any_versions_are_enabled(versions: Any, enabled: Any) -> None:
    assert Server("s").runtime(versions).versions == enabled


@pytest.mark.parametrize("versions", [[], ["2024-11-05"], "new"])
def test_versions_have_to_be_known(versions: Any) -> None:
    with pytest.raises(ValueError, match="versions must be some of"):
        Server("s").runtime(versions)


def test_runtimes_of_one_server_are_equal() -> None:
    server = Server("s")

    assert server.runtime() == server.runtime(VERSIONS)
    assert len({server.runtime(), server.runtime(VERSIONS), server.runtime(STATELESS)}) == 2
    assert server.runtime() != Server("s").runtime()
    assert repr(server.runtime(STATELESS)) == f"<Runtime of s, {STATELESS}>"
    assert repr(server) == "<Server s>"


def test_parts_of_a_uri_and_arguments_of_a_prompt_may_be_numbers() -> None:
    server = Server("s")

    @server.resource_template("a://{number}")
    def half(number: float) -> str:
        return str(number / 2)

    @server.prompt()
    def twice(number: int) -> str:
        return str(number * 2)

    asker = Asker(server, STATELESS)
    assert asker.ask("resources/read", uri="a://7")["contents"][0]["text"] == "3.5"
    assert asker.ask("resources/read", uri="a://x")["code"] == -32602
    messages = asker.ask("prompts/get", name="twice", arguments={"number": "4"})["messages"]
    assert messages[0]["content"]["text"] == "8"


# ---- templates

MATCHES = [
    ("a://{b}", "a://c", {"b": "c"}),
    ("a://{b}", "a://c/d", None),
    ("a://{b}/{c}", "a://1%2F2/3", {"b": "1/2", "c": "3"}),
    ("a://{+b}", "a://c/d?e#f", {"b": "c/d?e#f"}),
    ("a://{b*}/z", "a://c/d/z", {"b": "c/d"}),
    ("a.b://{c}", "axb://c", None),
    ("a://{b}", "a://", None),
]


@pytest.mark.parametrize(("template", "uri", "parts"), MATCHES)
def test_a_uri_is_taken_apart(template: str, uri: str, parts: Any) -> None:
    assert UriTemplate(template).match(uri) == parts


@pytest.mark.parametrize("template", ["a://b", "a://{b}/{b}", "a://{b,c}", "a://{?b}", "a://{b"])
def test_what_is_no_template(template: str) -> None:
    with pytest.raises(ValueError, match=r"template"):
        UriTemplate(template)


# ---- pages


def test_pages_follow_each_other() -> None:
    items = dict(zip("abcde", range(5), strict=True))

    first, cursor = page(items, None, 2)
    second, cursor = page(items, cursor, 2)
    third, end = page(items, cursor, 2)
    assert (first, second, third, end) == ([0, 1], [2, 3], [4], None)
    assert page(items, None, None) == ([0, 1, 2, 3, 4], None)
    assert page({}, None, 2) == ([], None)


def test_a_cursor_holds_though_items_come_and_go() -> None:
    items = dict(zip("abcd", range(4), strict=True))
    _, cursor = page(items, None, 2)
    del items["a"]

    assert page({"z": 9, **items}, cursor, 2) == ([2, 3], None)


@pytest.mark.parametrize("version", VERSIONS)
def test_lists_are_cut_into_pages(version: str) -> None:
    server = Server("s", page_size=2)
    for name in "abc":
        server.tool(name)(lambda: "1")
    asker = Asker(server, version)

    first = asker.ask("tools/list")
    second = asker.ask("tools/list", cursor=first["nextCursor"])
    assert [tool["name"] for tool in first["tools"] + second["tools"]] == ["a", "b", "c"]
    assert "nextCursor" not in second


def test_a_page_has_something_on_it() -> None:
    with pytest.raises(ValueError, match="page_size"):
        Server("s", page_size=0)
