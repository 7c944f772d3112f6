"""What runs in a solution's sandbox: load it, make one call, answer by value.

Its only input is one JSON object on stdin: `sources`, the function's `name` (or null), the `arguments` of one
call (or null to load only) and a `nonce`. No expected value ever enters this process. stdin is taken away
before the solution is loaded, and what the solution prints goes nowhere: stdout carries the answer alone,
between two nonces. The frame only tells answers from noise. To forge one gains nothing, for it holds what
the solution could have returned, and the verdict is made elsewhere.

This file is sent to the sandbox after `value.py`; see `runner.Program`.
"""

from __future__ import annotations

import json
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from .value import decode, encode


def take_channel() -> int:
    """Keep stdout for the answer and point descriptors 0 to 2 at nothing."""
    channel = os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    return channel


def send(channel: int, nonce: str, answer: object, dumps: Callable[[object], str] = json.dumps) -> None:
    """Write one framed answer; `dumps` is bound before a solution may patch it."""
    data = f"{nonce} {dumps(answer)} {nonce}\n".encode()
    while data:
        data = data[os.write(channel, data) :]


def answer_call(sources: list[str], name: str | None, arguments: Any) -> dict[str, Any]:
    """Load the solution and make the call.

    Returns:
        `{"value": ...}` or `{"error": ..., "kind": ..., "message": ...}`, where `kind` is the type of the
        exception that the call raised, or `NotLoaded` or `NotPlainData`.
    """
    module = types.ModuleType("solution")
    sys.modules["solution"] = module
    kind = "NotLoaded"
    try:
        for source in sources:
            exec(compile(source, "solution.py", "exec"), module.__dict__)  # noqa: S102 - its purpose
        if name is not None and name not in module.__dict__:
            return {"error": f"no function `{name}` is defined", "kind": kind, "message": ""}
        result = None
        if name is not None and arguments is not None:
            kind = ""
            result = module.__dict__[name](*arguments[0], **arguments[1])
        kind = "NotPlainData"
        return {"value": encode(result)}
    except BaseException as error:  # noqa: BLE001 - whatever it raised is its answer
        return {"error": describe(error), "kind": kind or type(error).__name__, "message": told(error)}


def told(error: BaseException) -> str:
    """The message of an exception, whose class may be hostile."""
    try:
        return str(error)[:1000]
    except BaseException:  # noqa: BLE001 - see above
        return ""


def describe(error: BaseException) -> str:
    """One line: type, message, and the line of the solution that raised."""
    line = error.lineno if isinstance(error, SyntaxError) else None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "solution.py":
            line = trace.tb_lineno
        trace = trace.tb_next
    message = error.msg if isinstance(error, SyntaxError) else told(error)
    return f"{type(error).__name__}: {message:.200}" + (f" (line {line})" if line else "")


def main(data: bytes) -> None:
    """Answer one request and leave at once: no exit handler or thread outlives the answer."""
    leave = os._exit
    request = json.loads(data)
    channel = take_channel()
    arguments = None if request["arguments"] is None else decode(request["arguments"])
    send(channel, request["nonce"], answer_call(request["sources"], request["name"], arguments))
    leave(0)
