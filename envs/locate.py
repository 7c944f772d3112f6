"""Objects by path: `path/to/file.py:Name` or `package.module:Name`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import inspect
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

from .nearest import did_you_mean, listed

_lock = threading.RLock()


def is_path(text: str) -> bool:
    """Whether a text is meant as a path to an object rather than a registered name."""
    return ":" in text or text.endswith(".py")


def absolute(path: str) -> str:
    """The same path, independent of the working folder."""
    place, _, name = path.rpartition(":")
    return f"{Path(place).resolve()}:{name}" if place.endswith(".py") else path


def load_object(path: str) -> Any:  # Any: whatever stands there
    """Load an object by its path. A file is run once a process, whatever way its path is written.

    Raises:
        ValueError: the path is malformed, the file or module is missing or fails to load, or it has no
            such name.
    """
    place, _, name = path.rpartition(":")
    if not place and path.endswith(".py"):
        place, name = path, ""
    module = _load_file(Path(place)) if place.endswith(".py") else _load_module(place, path)
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            own = [key for key, item in vars(module).items() if _is_own_class(item, module)]
            raise ValueError(
                f"{place} has no {name!r}{did_you_mean(name, own)}; "
                f"write {place}:Class (its classes: {listed(own)})"
            )
        value = getattr(value, part)
    return value


def _is_own_class(item: object, module: ModuleType) -> bool:
    return inspect.isclass(item) and item.__module__ == module.__name__


def _load_module(place: str, path: str) -> ModuleType:
    if not place or not all(part.isidentifier() for part in place.split(".")):
        raise ValueError(f"{path!r} is not a path; write package.module:Class or path/to/file.py:Class")
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))  # as `python -m` would, for modules beside a recipe
    try:
        return importlib.import_module(place)
    except (Exception, SystemExit) as error:
        raise ValueError(f"cannot import {place!r} of {path!r}: {_told(error)}") from error


def _load_file(file: Path) -> ModuleType:
    file = file.resolve()
    if not file.is_file():
        near = did_you_mean(file.name, [p.name for p in file.parent.glob("*.py")])
        raise ValueError(f"there is no file {file}{near}")
    digest = hashlib.sha256(str(file).encode()).hexdigest()[:8]
    module_name = f"grpo_agent_file_{digest}_{file.stem.replace('-', '_')}"
    with _lock:
        if module_name in sys.modules:
            return sys.modules[module_name]
        return _run_file(file, module_name)


def _run_file(file: Path, module_name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module  # before it runs: dataclasses and pickle look it up
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))  # so that it can import its neighbours, as a script can
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[module_name]
        raise ValueError(f"{file} fails when loaded: {_told(error)}") from error
    return module


def _told(error: BaseException) -> str:
    line = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file != __file__ and "importlib" not in file:
            line = f" ({file}:{trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {error}{'' if isinstance(error, SyntaxError) else line}"
