"""A small MCP server in the same Python process: functions, and the decorators that offer them."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from snodo_actors.server.feeds import (
    PROMPTS_CHANGED,
    RESOURCE_UPDATED,
    RESOURCES_CHANGED,
    TOOLS_CHANGED,
    Feeds,
)
from snodo_actors.server.introduction import Served
from snodo_actors.server.offers import (
    CacheScope,
    Freshness,
    Offers,
    Prompt,
    Resource,
    Template,
    Tool,
    definition,
)
from snodo_actors.server.runtime import Runtime, read_versions
from snodo_actors.server.signature import Signature
from snodo_actors.server.templates import UriTemplate
from snodo_actors.words.checks import positive
from snodo_actors.words.types import JSONObject

F = TypeVar("F", bound=Callable[..., Any])
