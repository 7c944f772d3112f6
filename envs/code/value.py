"""Plain data across a process boundary: exact builtin values as tagged JSON.

Plain data is `None`, `bool`, `int`, `float`, `str`, and `list`, `tuple`, `set`, `dict` of plain data: of
exactly these types, since a subclass may carry behaviour. JSON's own types stand for themselves; the others
are one-key objects: `{"$tuple": [...]}`, `{"$set": [...]}`, `{"$dict": [[key, value], ...]}`.

This file also runs inside sandboxes, where nothing but the standard library can be imported.
"""

from __future__ import annotations

import json
from typing import Any  # a plain value, throughout

MAX_DEPTH = 60
MAX_ITEMS = 200_000


def encode(value: Any) -> Any:
    """Turn plain data into what `json.dumps` writes.

    Raises:
        TypeError: something in it is not plain data.
        ValueError: it is nested deeper than `MAX_DEPTH` or holds more than `MAX_ITEMS` values.
    """
    return _encode(value, 0, [MAX_ITEMS])


def _encode(value: Any, depth: int, left: list[int]) -> Any:
    kind = type(value)
    left[0] -= 1
    if depth > MAX_DEPTH or left[0] < 0:
        raise ValueError("the value is nested too deeply or too large")
    if value is None or kind is bool or kind is int or kind is float or kind is str:
        return value
    if kind is dict:
        pairs = [[_encode(k, depth + 1, left), _encode(v, depth + 1, left)] for k, v in value.items()]
        return {"$dict": pairs}
    if kind is list or kind is tuple or kind is set:
        items = [_encode(item, depth + 1, left) for item in value]
        return items if kind is list else {"$tuple": items} if kind is tuple else {"$set": items}
    raise TypeError(f"a {kind.__name__} is not plain data")


def parse(text: str) -> Any:
    """Parse exactly one JSON document that may be hostile.

    Raises:
        ValueError: it is none, repeats a key, or is nested too deeply.
    """
    try:
        return json.loads(text, object_pairs_hook=_without_repeats)
    except RecursionError:
        raise ValueError("the value is nested too deeply") from None


def decode(text: str) -> Any:
    """Read back what `encode` and `json.dumps` wrote.

    Raises:
        ValueError: it is something else.
    """
    try:
        return untag(parse(text), bare_objects=False)
    except TypeError as error:
        raise ValueError(f"not plain data: {error}") from None


def untag(value: Any, *, bare_objects: bool = True, max_members: int | None = None) -> Any:
    """Turn parsed JSON into plain data, within the bounds of `encode`.

    Args:
        value: what a JSON parser made.
        bare_objects: whether an object without a tag is a dict with text keys; an error otherwise.
        max_members: bound on set members and dict keys together, for values of a hostile sender: to make
            sets of numbers chosen to collide takes quadratic time.

    Raises:
        ValueError: unknown tag, repeated key or set member, too deep or too large.
        TypeError: an unhashable key or set member.
    """
    return _Untag(bare_objects, MAX_ITEMS if max_members is None else max_members).read(value, 0)


class _Untag:
    def __init__(self, bare_objects: bool, max_members: int) -> None:
        self._bare_objects = bare_objects
        self._items_left = MAX_ITEMS
        self._members_left = max_members

    def read(self, value: Any, depth: int) -> Any:
        self._items_left -= 1
        if depth > MAX_DEPTH or self._items_left < 0:
            raise ValueError("the value is nested too deeply or too large")
        if type(value) is list:
            return [self.read(item, depth + 1) for item in value]
        if type(value) is not dict:
            return value
        tag, content = next(iter(value.items())) if len(value) == 1 else ("", None)
        if type(content) is list and tag == "$tuple":
            return tuple(self.read(item, depth + 1) for item in content)
        if type(content) is list and tag == "$set":
            return self._distinct(content, {self.read(item, depth + 1) for item in self._members(content)})
        if type(content) is list and tag == "$dict":
            return self._distinct(content, dict(self._pairs(content, depth + 1)))
        if not self._bare_objects:
            raise ValueError("an object without a known tag")
        return {key: self.read(item, depth + 1) for key, item in value.items()}

    def _pairs(self, content: list[Any], depth: int) -> list[tuple[Any, Any]]:
        if any(type(pair) is not list or len(pair) != 2 for pair in content):
            raise ValueError("a dict is a list of pairs")
        return [(self.read(key, depth), self.read(item, depth)) for key, item in self._members(content)]

    def _members(self, content: list[Any]) -> list[Any]:
        self._members_left -= len(content)
        if self._members_left < 0:
            raise ValueError("the value holds too many members of sets and keys of dicts")
        return content

    @staticmethod
    def _distinct(content: list[Any], made: Any) -> Any:
        if len(made) != len(content):
            raise ValueError("a repeated key or member")
        return made


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a repeated key")
    return made
