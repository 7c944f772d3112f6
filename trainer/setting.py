"""The keys of a recipe with their defaults and meanings, read off the attribute docstrings of `Recipe`."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .recipe import Recipe


@dataclass(frozen=True, slots=True)
class Setting:
    """One documented key of a recipe."""

    key: str
    """Dotted, e.g. `limits.max_turns`."""
    default: str
    doc: str


@functools.cache
def settings() -> tuple[Setting, ...]:
    """All keys of a recipe, in order."""
    return tuple(_settings(Recipe, ""))


def _settings(cls: type, prefix: str) -> Iterator[Setting]:
    docs, hints = _attribute_docs(cls), typing.get_type_hints(cls)
    for entry in dataclasses.fields(cls):
        if dataclasses.is_dataclass(hints[entry.name]):
            yield from _settings(hints[entry.name], f"{prefix}{entry.name}.")
        else:
            yield Setting(prefix + entry.name, _default(entry), docs.get(entry.name, ""))


def _attribute_docs(cls: type) -> dict[str, str]:
    body = ast.parse(inspect.cleandoc(inspect.getsource(cls))).body[0]
    if not isinstance(body, ast.ClassDef):
        raise TypeError(f"{cls!r} is not a class")
    docs = {}
    for statement, following in zip(body.body, body.body[1:], strict=False):
        match statement, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(doc))):
                docs[name] = " ".join(doc.split())
    return docs


def _default(entry: dataclasses.Field[Any]) -> str:  # Any: of whatever type the field is
    if entry.default_factory is not dataclasses.MISSING:
        made = entry.default_factory()
        return str(made.get("name", "")) if isinstance(made, dict) else ""
    value = entry.default
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)
