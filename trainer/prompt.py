"""Task rows in TRL's prompts, and back.

`rollout_func` is given prompts and no other dataset column, so a task row travels inside its prompt's
one message as a JSON string: `{"role": "user", "content": ..., "task": "{...}"}`. A string, because
`datasets` would unify the fields of nested rows.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from ..envs.core import Task

Prompt = list[dict[str, Any]]  # Any: the fields of a chat message

_MAX_TITLE_CHARS = 200


def to_prompt(task: Task) -> Prompt:
    """The prompt that carries `task`; its `content` is only a title for logs.

    Raises:
        TypeError: the row holds something that JSON cannot.
    """
    try:
        text = json.dumps(dict(task))  # in ASCII, which carries unpaired surrogates too
    except TypeError as error:
        raise TypeError(
            f"task {task.get('task_id', '')!r} is not JSON ({error}); "
            "use text, numbers, booleans, null, lists and mappings in task rows"
        ) from error
    title = task.get("prompt", task.get("task_id", ""))
    content = title if isinstance(title, str) else json.dumps(title, ensure_ascii=False)
    readable = content[:_MAX_TITLE_CHARS].encode("utf-8", "replace").decode("utf-8")
    return [{"role": "user", "content": readable, "task": text}]


def to_task(prompt: object) -> Task:
    """The task that `prompt` carries.

    A prompt that carries none (a user's own dataset: text or messages) becomes a task of its own, with
    `prompt` and a `task_id` made of its content.

    Raises:
        ValueError: neither text nor a non-empty list of messages, or the task is not a JSON mapping.
    """
    if isinstance(prompt, str):
        return _foreign(prompt)
    if not isinstance(prompt, list) or not prompt or not all(isinstance(part, Mapping) for part in prompt):
        raise ValueError(f"a prompt is text or a list of chat messages, got {str(prompt)[:200]!r}")
    text = prompt[0].get("task")
    if text is None:
        return _foreign(prompt)
    task = json.loads(text) if isinstance(text, str) else text
    if not isinstance(task, Mapping):
        raise ValueError(f"the 'task' of a prompt must be a JSON mapping, got {str(text)[:200]!r}")
    return task


def _foreign(prompt: object) -> Task:
    text = json.dumps(prompt, ensure_ascii=False, sort_keys=True, default=str)
    return {"task_id": hashlib.blake2s(text.encode(), digest_size=6).hexdigest(), "prompt": prompt}
