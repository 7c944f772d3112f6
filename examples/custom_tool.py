"""Plug in a tool: a typed function with a docstring, and nothing else.

Run it and see what the agent is offered, what a right call gives, and what a wrong one is told:

    python examples/custom_tool.py
"""

from __future__ import annotations

import asyncio
import json

from grpo_agent import ToolEnv, tool
from grpo_agent.envs.testing import play, tool_action

PRICES = {"apple": 0.5, "bread": 2.25}


@tool
def price(item: str, count: int = 1) -> float:
    """Look up what something costs.

    Args:
        item: What to buy.
        count: How many.
    """
    return PRICES[item] * count


def main() -> None:
    """Play one episode of scripted actions."""
    env = ToolEnv(tools=[price])
    print(json.dumps(env.tools[0], indent=2))
    turns = [
        tool_action(("price", {"item": "apple", "count": "3"}), ("price", {"item": "bread"})),
        tool_action(("price", {"itm": "apple"}), ("prize", {"item": "apple"})),
    ]
    _, steps = asyncio.run(play(env, turns))
    for step in steps:
        for message in step.observation:
            print(f"{message['tool_call_id']} {message['name']}: {message['content']}")


if __name__ == "__main__":
    main()
