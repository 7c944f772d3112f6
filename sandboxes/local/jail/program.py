"""Running the untrusted program itself, after the jail has closed.

Everything from here on runs with the program's own rights.
"""

from __future__ import annotations

import atexit
import linecache
import os
import signal
import sys
import threading
import traceback
import types
from collections.abc import Mapping
from typing import Any, NoReturn

Task = Mapping[str, Any]  # Any: the provider's own data

_NOT_FOUND, _NOT_EXECUTABLE, _BROKEN_STREAM = 127, 126, 120
_KEPT: list[types.ModuleType] = []

WRITE_FAILED = 124
"""Exit code when files could not be laid into the workspace."""


def run(task: Task) -> NoReturn:
    """Lay out files and environment, then run Python source, a command or a console."""
    os.environ.update(task["env"])
    try:
        os.chdir(task["workspace"])
        write_files(task["files"])
    except OSError as error:
        os.write(2, f"{error}\n".encode(errors="backslashreplace"))
        os._exit(WRITE_FAILED)
    if task["cmd"]:
        _execute(task["cmd"])
    if task["code"] is None:
        os._exit(0)
    _run_main(task["code"], task)


def write_files(files: Mapping[str, bytes]) -> None:
    """Write files below the current folder; existing ones are replaced, folders are made."""
    for path, data in files.items():
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        with open(path, "wb", buffering=0) as file:
            view = memoryview(data)
            while view:
                view = view[file.write(view) :]


def _execute(argv: list[str]) -> NoReturn:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # the interpreter ignores these; programs should not
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(argv[0], argv)  # noqa: S606 - the jail's program, by argument list
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode(errors="backslashreplace"))
        os._exit(_NOT_FOUND if isinstance(error, FileNotFoundError) else _NOT_EXECUTABLE)


def _run_main(code: bytes, task: Task) -> NoReturn:
    """Run source as `__main__`, as the interpreter would, but leave without tearing the modules down."""
    script = task["script"]
    descriptor = os.open(script, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(descriptor, code)
    os.close(descriptor)
    main = types.ModuleType("__main__")
    main.__file__ = script
    main.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = main
    sys.path.insert(0, task["workspace"])
    status = 0
    try:
        exec(compile(code, script, "exec", dont_inherit=True), main.__dict__)  # noqa: S102 - the point of this file
    except BaseException as error:  # noqa: BLE001 - whatever the program raises is its own result
        status = report(error)
    leave(status)


def forget_jail() -> None:
    """Take these modules out of sight, once all are loaded: a program sees an ordinary interpreter."""
    package = __name__.partition(".")[0]
    ours = [name for name in sys.modules if name.partition(".")[0] == package]
    _KEPT.extend(sys.modules.pop(name) for name in ours)


def report(error: BaseException) -> int:
    """Print what the program raised, without our own frames; returns the exit code."""
    if isinstance(error, SystemExit):
        return _exit_code(error.code)
    trace = error.__traceback__
    trace = trace.tb_next if trace is not None else None
    try:
        hook = sys.excepthook
        if hook is sys.__excepthook__ and linecache.cache:  # the built-in one shows lines of files only
            traceback.print_exception(type(error), error, trace)
        else:
            hook(type(error), error.with_traceback(trace), trace)
    except BaseException:  # noqa: BLE001 - the hook is the program's too
        return 1
    return 1


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    try:
        print(code, file=sys.stderr)  # noqa: T201 - as the interpreter does
    except BaseException:  # noqa: BLE001 - an object of the program's making
        return 1
    return 1


def leave(status: int) -> NoReturn:
    """Wait for threads, run exit handlers, flush, and end."""
    try:
        threading._shutdown()  # type: ignore[attr-defined]  # the only way to wait as the interpreter does
        atexit._run_exitfuncs()
    except BaseException as error:  # noqa: BLE001 - the program's own
        status = report(error) or status
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 - closed or replaced by the program
            status = status or _BROKEN_STREAM
    os._exit(status)
