"""The same client without async code: futures are waited for with get()."""

from __future__ import annotations

import sys

import pykka

import snodo_actors as snodo

SERVER = ("stdio", sys.executable, ["-m", "snodo_actors.demo.server"])


def main() -> None:
    """Ask one server many things at once."""
    with snodo.connect(SERVER).get(timeout=30) as client:
        print([tool["name"] for tool in client.list_tools().get()])
        calls = [client.call_tool("add", {"a": n, "b": n}) for n in range(5)]
        print([result["structuredContent"]["result"] for result in pykka.get_all(calls)])
        try:
            client.call_tool("sleep", {"seconds": 60}, timeout=0.2).get()
        except snodo.RequestTimeout as error:
            print(f"{error.code}: {error.message}; delivery {error.delivery}")


if __name__ == "__main__":
    main()
