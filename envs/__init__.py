"""What an agent faces: environments, tools, tasks. Names load when used.

The decorator `tool` is `grpo_agent.tool`; here the name is its module.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .core import Action, Env, Message, Observation, Step, Task, ToolCall
    from .errors import EnvError, ToolUnavailable
    from .gym import FromGymnasium, ToGymnasium
    from .registry import describe, env_factory, make, names, register
    from .task import load_rows, map_fields, map_rows, task_id, with_task_ids
    from .testing import check_env
    from .tool import Tool, ToolResult, as_tool
    from .tool_env import ToolEnv

_HOMES = {
    "Action": "core",
    "Env": "core",
    "EnvError": "errors",
    "FromGymnasium": "gym",
    "Message": "core",
    "Observation": "core",
    "Step": "core",
    "Task": "core",
    "ToGymnasium": "gym",
    "Tool": "tool",
    "ToolCall": "core",
    "ToolEnv": "tool_env",
    "ToolResult": "tool",
    "ToolUnavailable": "errors",
    "as_tool": "tool",
    "check_env": "testing",
    "describe": "registry",
    "env_factory": "registry",
    "load_rows": "task",
    "make": "registry",
    "map_fields": "task",
    "map_rows": "task",
    "names": "registry",
    "register": "registry",
    "task_id": "task",
    "with_task_ids": "task",
}

__all__ = [
    "Action",
    "Env",
    "EnvError",
    "FromGymnasium",
    "Message",
    "Observation",
    "Step",
    "Task",
    "ToGymnasium",
    "Tool",
    "ToolCall",
    "ToolEnv",
    "ToolResult",
    "ToolUnavailable",
    "as_tool",
    "check_env",
    "describe",
    "env_factory",
    "load_rows",
    "make",
    "map_fields",
    "map_rows",
    "names",
    "register",
    "task_id",
    "with_task_ids",
]


def __getattr__(name: str) -> Any:  # Any: whatever the public name is
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
