"""The persistent interpreter: runs source in one set of globals, again and again.

All of this is within reach of the untrusted source, so its answers prove nothing.
"""

from __future__ import annotations

import linecache
import os
import socket
import sys
import types
from typing import NoReturn

from . import program, protocol

DESCRIPTOR = 3
_BROKEN_STREAM = 120


def serve(task: program.Task) -> NoReturn:
    """Serve source from descriptor 3 until it closes."""
    os.environ.update(task["env"])
    os.chdir(task["workspace"])
    sys.path.insert(0, task["workspace"])
    channel = socket.socket(fileno=DESCRIPTOR)
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    while message := protocol.receive(channel):
        body, descriptors = message
        source = _take_over(descriptors)
        name = f"<input {body['count']}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        status = _run(source, name, main)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:  # noqa: BLE001 - closed or replaced by the source
                status = status or _BROKEN_STREAM
        channel.send(b"%d %d" % (body["count"], status))
    os._exit(0)


def _take_over(descriptors: list[int]) -> str:
    """Take the streams for one source, and read it."""
    script, *streams = descriptors
    for target, descriptor in enumerate(streams):
        os.dup2(descriptor, target)
        os.close(descriptor)
    with open(script, "rb") as file:
        return file.read().decode("utf-8", "surrogatepass")


def _run(source: str, name: str, main: types.ModuleType) -> int:
    try:
        exec(compile(source, name, "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - the point of this file
    except BaseException as error:  # noqa: BLE001 - whatever the source raises is its own result
        return program.report(error)
    return 0
