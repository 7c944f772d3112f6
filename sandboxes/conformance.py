"""The conformance suite that every provider passes; `testing` offers it to users."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from .core import SandboxLimits, SandboxProvider, SandboxSpec, Status
from .errors import FileAccessError, SandboxLost


async def check_provider(provider: SandboxProvider) -> None:
    """Run the whole conformance suite.

    Args:
        provider: started or not; it can run Python and `/bin/sh`.

    Raises:
        AssertionError: naming the rule that does not hold.
    """
    for check in CHECKS.values():
        await check(provider)


def _rule(holds: bool, rule: str, *seen: Any) -> None:  # Any: whatever explains the failure
    if not holds:
        raise AssertionError(f"{rule}; seen: {', '.join(map(repr, seen))}")


@contextlib.asynccontextmanager
async def _must_raise(kind: type[Exception], rule: str) -> AsyncIterator[None]:
    try:
        yield
    except kind:
        return
    raise AssertionError(f"{rule}; seen: no {kind.__name__}")


async def _check_outcomes(provider: SandboxProvider) -> None:
    fine = await provider.run("import sys\nprint('out')\nprint('err', file=sys.stderr)")
    _rule((fine.status, fine.exit_code) == (Status.OK, 0), "a program that ends well is ok with code 0", fine)
    _rule((fine.stdout, fine.stderr) == ("out\n", "err\n"), "both streams are returned, apart", fine)
    crashed = await provider.run("print('before')\n1 / 0")
    _rule(
        (crashed.status, crashed.exit_code) == (Status.ERROR, 1), "an exception is an error, code 1", crashed
    )
    _rule(crashed.stdout == "before\n", "output before a crash is kept", crashed)
    _rule("ZeroDivisionError" in crashed.stderr, "the traceback is on stderr", crashed)
    left = await provider.run("raise SystemExit(7)")
    _rule((left.status, left.exit_code) == (Status.ERROR, 7), "the exit code is returned", left)
    killed = await provider.run("import os, signal\nos.kill(os.getpid(), signal.SIGTERM)")
    _rule((killed.exit_code, killed.signal) == (None, 15), "a signal is told from an exit code", killed)


async def _check_input(provider: SandboxProvider) -> None:
    echo = "import sys\nprint(len(sys.stdin.read()))"
    for size in (0, 5, 100_000):
        result = await provider.run(echo, stdin="x" * size)
        _rule(result.stdout == f"{size}\n", "stdin arrives whole, and then ends", size, result)
    result = await provider.run("print(input())", stdin="\u00e9\u4e16\U0001f600\n")
    _rule(result.stdout == "\u00e9\u4e16\U0001f600\n", "text is UTF-8 both ways", result)
    files: dict[str, bytes | str] = {"a.txt": "text", "deep/er/b.bin": b"\x00\xff"}
    result = await provider.run(
        "print(open('a.txt').read(), open('deep/er/b.bin', 'rb').read())", files=files
    )
    _rule(result.stdout == "text b'\\x00\\xff'\n", "files are laid into the workspace", result)
    result = await provider.run("import a\nprint(a.x)", files={"a.py": "x = 3"})
    _rule(result.stdout == "3\n", "modules of the workspace can be imported", result)
    result = await provider.run("import os\nprint(os.environ['KEY'])", env={"KEY": "value"})
    _rule(result.stdout == "value\n", "environment variables are passed", result)
    result = await provider.run(cmd=["sh", "-c", "cat; exit 5"], stdin="in")
    _rule((result.stdout, result.exit_code) == ("in", 5), "cmd runs a program by argument list", result)
    result = await provider.run(cmd=["no-such-program"])
    _rule(result.exit_code == 127, "an unknown program is code 127, as in a shell", result)


async def _check_misuse(provider: SandboxProvider) -> None:
    async with _must_raise(ValueError, "neither code nor cmd is a ValueError"):
        await provider.run()
    async with _must_raise(ValueError, "both code and cmd is a ValueError"):
        await provider.run("pass", cmd=["true"])
    for path in ("/etc/x", "../x", "a/../../x", ""):
        async with _must_raise(ValueError, f"a file named {path!r} is a ValueError"):
            await provider.run("pass", files={path: ""})
    async with _must_raise(ValueError, "a time limit of 0 is a ValueError"):
        await provider.run("pass", timeout_s=0)


async def _check_time(provider: SandboxProvider) -> None:
    for code in (
        "while True: pass",
        "import time\ntime.sleep(60)",
        "import subprocess\nsubprocess.run(['sleep', '60'])",
    ):
        result = await provider.run("print('begun', flush=True)\n" + code, timeout_s=0.7)
        _rule(result.status is Status.TIMEOUT, "a program is killed at its time limit", code, result)
        _rule(0.7 <= result.wall_s < 1.5, "the time limit is kept", code, result)
        _rule(result.stdout == "begun\n", "output before a timeout is kept", code, result)


async def _check_output(provider: SandboxProvider) -> None:
    limits = SandboxLimits(max_output_bytes=1000)
    for stream in ("stdout", "stderr"):
        result = await provider.run(f"import sys\nwhile True: sys.{stream}.write('x' * 100)", limits=limits)
        _rule(result.status is Status.OUTPUT_LIMIT, "too much output is output_limit", stream, result.status)
        _rule(result.truncated, "cut output is marked", stream, result.status)
        _rule(getattr(result, stream) == "x" * 1000, "the first bytes of the output are kept", stream)
    result = await provider.run("import sys\nsys.stdout.buffer.write(b'a\\xffb')")
    _rule(result.stdout == "a\ufffdb", "bytes that are no UTF-8 are replaced", result)


async def _check_limits(provider: SandboxProvider) -> None:
    limits = SandboxLimits(memory_bytes=200 * 2**20, max_file_bytes=2**20, max_open_files=32)
    result = await provider.run("x = bytearray(400 * 2**20)", limits=limits)
    _rule(not result.ok, "memory of a process is bounded", result)
    result = await provider.run("open('f', 'wb').write(bytes(2 * 2**20))", limits=limits)
    _rule(not result.ok, "the size of a file is bounded", result)
    result = await provider.run("files = [open('f', 'w') for _ in range(100)]", limits=limits)
    _rule("Too many open files" in result.stderr, "open files are bounded", result)
    busy = await provider.run("while True: pass", timeout_s=20, limits=SandboxLimits(cpu_s=1))
    _rule(busy.status is Status.TIMEOUT and busy.wall_s < 15, "processor time is bounded", busy)


async def _check_concurrency(provider: SandboxProvider) -> None:
    results = await asyncio.gather(*(provider.run(f"print({n})") for n in range(20)))
    _rule([r.stdout for r in results] == [f"{n}\n" for n in range(20)], "results are not mixed up", results)


async def _check_cancellation(provider: SandboxProvider) -> None:
    task = asyncio.ensure_future(provider.run("import time\ntime.sleep(60)", timeout_s=60))
    await asyncio.sleep(0.3)
    task.cancel()
    try:
        async with asyncio.timeout(5):
            await task
    except asyncio.CancelledError:
        pass
    else:
        raise AssertionError("a cancelled run raises CancelledError")
    result = await provider.run("print('alive')")
    _rule(result.stdout == "alive\n", "the provider is usable after a cancelled run", result)


async def _check_session(provider: SandboxProvider) -> None:
    spec = SandboxSpec(files={"a.txt": "1"}, env={"KEY": "value"})
    async with provider.session(spec) as box:
        result = await box.exec("cat a.txt; echo $KEY; echo 2 > b.txt")
        _rule(result.stdout == "1value\n", "a session has its files and environment", result)
        result = await box.exec(["cat", "b.txt"])
        _rule(result.stdout == "2\n", "files last from command to command", result)
        result = await box.run_python("print(open('b.txt').read(), input())", stdin="3")
        _rule(result.stdout == "2\n 3\n", "Python sees the same files", result)
        await box.write({"c/d.txt": "4", "a.txt": b"5"})
        result = await box.exec("cat a.txt c/d.txt")
        _rule(result.stdout == "54", "write makes folders and replaces files", result)
        _rule(await box.read("b.txt") == b"2\n", "read gives back what a command wrote")
        chunks: list[tuple[str, bytes]] = []
        await box.exec("echo out; echo err >&2", on_output=lambda name, chunk: chunks.append((name, chunk)))
        _rule(sorted(chunks) == [("stderr", b"err\n"), ("stdout", b"out\n")], "output is streamed", chunks)
        late = await box.exec("sleep 60", timeout_s=0.5)
        _rule(late.status is Status.TIMEOUT, "a command is killed at its time limit", late)
        _rule(await box.read("b.txt") == b"2\n", "files outlive a timeout")
    await box.close()
    async with _must_raise(SandboxLost, "a closed session is SandboxLost"):
        await box.exec("true")
    async with provider.session() as box:
        result = await box.exec("ls")
        _rule(result.stdout == "", "a new session sees nothing of the last", result)


async def _check_reading(provider: SandboxProvider) -> None:
    make = (
        "import os\nos.symlink('/etc/passwd', 'link')\nos.symlink('.', 'here')\nos.mkdir('folder')\n"
        "os.mkfifo('fifo')\nopen('large', 'wb').write(bytes(2000))"
    )
    async with provider.session(SandboxSpec(files={"fine": "x"})) as box:
        result = await box.run_python(make)
        _rule(result.ok, "links, folders and fifos can be made", result)
        for path in ("link", "here/fine", "folder", "fifo", "missing", "fine/x"):
            async with _must_raise(FileAccessError, f"reading {path!r} is a FileAccessError"):
                await box.read(path)
        async with _must_raise(FileAccessError, "reading more than max_bytes is a FileAccessError"):
            await box.read("large", max_bytes=1999)
        _rule(await box.read("large", max_bytes=2000) == bytes(2000), "a file of max_bytes is read whole")
        for path in ("/etc/passwd", "../x"):
            async with _must_raise(ValueError, f"reading {path!r} is a ValueError"):
                await box.read(path)


async def _check_console(provider: SandboxProvider) -> None:
    async with provider.session() as box:
        await box.run_python("import math\nx = 1", keep_state=True)
        result = await box.run_python("x += 1\nprint(x, math.pi > 3)", keep_state=True)
        _rule(result.stdout == "2 True\n", "with keep_state, names last", result)
        result = await box.run_python("print(input())\n1 / 0", keep_state=True, stdin="in")
        _rule(
            (result.status, result.stdout) == (Status.ERROR, "in\n"), "errors and stdin work as ever", result
        )
        result = await box.run_python("print(x)", keep_state=True)
        _rule(result.stdout == "2\n", "names outlive an exception", result)
        result = await box.run_python("print('x' in globals())")
        _rule(result.stdout == "False\n", "without keep_state, Python is fresh", result)
        await box.exec("true")
        result = await box.run_python("print(x)", keep_state=True)
        _rule(result.stdout == "2\n", "names outlive other commands", result)
        for code, status in (("while True: pass", Status.TIMEOUT), ("import os\nos._exit(3)", Status.ERROR)):
            result = await box.run_python(code, keep_state=True, timeout_s=0.5)
            _rule(result.status is status, "a console ends like a program", code, result)
            _rule("restarted" in result.stderr, "stderr says that the interpreter was restarted", result)
            result = await box.run_python("print('x' in globals())\nx = 1", keep_state=True)
            _rule(result.stdout == "False\n", "a restarted interpreter is fresh", result)


async def _check_many_sessions(provider: SandboxProvider) -> None:
    async def one(number: int) -> str:
        async with provider.session() as box:
            await box.write({"n": str(number)})
            await asyncio.sleep(0.05)
            return (await box.exec("cat n; ls | wc -l")).stdout

    outputs = await asyncio.gather(*(one(number) for number in range(8)))
    _rule(outputs == [f"{number}1\n" for number in range(8)], "sessions do not see each other", outputs)


CHECKS: dict[str, Callable[[SandboxProvider], Awaitable[None]]] = {
    "outcomes": _check_outcomes,
    "input": _check_input,
    "misuse": _check_misuse,
    "time": _check_time,
    "output": _check_output,
    "limits": _check_limits,
    "concurrency": _check_concurrency,
    "cancellation": _check_cancellation,
    "session": _check_session,
    "reading": _check_reading,
    "console": _check_console,
    "many sessions": _check_many_sessions,
}
"""The conformance suite, by what each part is about."""
