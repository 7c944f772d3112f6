"""From a typed, documented Python signature to a JSON schema, and from JSON back to arguments.

Types are pydantic's: `Annotated`, `Literal`, enums, `Optional`, unions, containers, dataclasses and
pydantic models, nested at will. The schema is kept flat (no `$ref`, no titles, `nullable` instead of a
union with null), because chat templates read it.

Not here: what a tool is (`tool`), nor calling it (`tool_call`).
"""

from __future__ import annotations

import functools
import inspect
import json
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NotRequired

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict

from .docstring import Docstring
from .nearest import did_you_mean, listed
from .text import brief

JsonSchema = dict[str, Any]  # Any: JSON

_CONFIG = ConfigDict(
    extra="forbid", coerce_numbers_to_str=True, allow_inf_nan=False, arbitrary_types_allowed=False
)
_NAMED_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MAX_COMPLAINTS = 5


@dataclass(frozen=True, slots=True)
class ArgumentSchema:
    """The arguments of one tool."""

    parameters: JsonSchema
    """An `object` schema with `properties` and `required`."""
    adapter: TypeAdapter[dict[str, Any]]  # Any: whatever the annotations say

    def validate(self, arguments: Mapping[str, Any]) -> dict[str, Any]:  # Any: decoded JSON
        """Coerce decoded JSON to the annotated types.

        Raises:
            ValueError: with one clause per argument that is missing, unknown or of the wrong type.
        """
        try:
            return self.adapter.validate_python(self._decoded(arguments))
        except ValidationError as error:
            complaints = [self._complaint(dict(item)) for item in error.errors(include_url=False)]
            # Without the cause: pydantic's own text is long and quotes the input at length.
            raise ValueError("; ".join(complaints[:_MAX_COMPLAINTS])) from None

    def usage(self, name: str) -> str:
        """One line that shows how to call the tool, e.g. `add(a: integer, b: integer = 1)`."""
        parts = []
        for argument, schema in self.parameters["properties"].items():
            default = ""
            if "default" in schema:
                default = f" = {json.dumps(schema['default'])}"
            elif argument not in self.parameters["required"]:
                default = " (optional)"
            parts.append(f"{argument}: {_type_words(schema)}{default}")
        return f"{name}({', '.join(parts)})"

    def _decoded(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Undo a model's habit of writing lists and objects as a string of JSON."""
        properties = self.parameters["properties"]
        decoded = {str(name): value for name, value in arguments.items()}
        for name, value in decoded.items():
            if isinstance(value, str) and properties.get(name, {}).get("type") in ("array", "object"):
                try:
                    decoded[name] = json.loads(value)
                except (ValueError, RecursionError):
                    continue
        return decoded

    def _complaint(self, item: dict[str, Any]) -> str:
        location = [str(part) for part in item["loc"]]
        names = self.parameters["properties"]
        if item["type"] == "missing":
            return f"argument '{'.'.join(location)}' is missing"
        if item["type"] == "extra_forbidden" and len(location) == 1:
            hint = did_you_mean(location[0], names) or f"; the arguments are: {listed(names)}"
            return f"argument {location[0][:100]!r} is unknown{hint}"
        return f"argument '{'.'.join(location)[:100]}': {item['msg'][:300]} (got {brief(item['input'])})"


def argument_schema(
    function: Callable[..., Any],
    *,
    label: str,
    docstring: Docstring,
    skip_first: bool = False,
    local_names: Mapping[str, Any] | None = None,
) -> ArgumentSchema:
    """Read the arguments of a function.

    Args:
        function: what will be called, by keyword.
        label: how error messages name it.
        docstring: its docstring; every argument is described there or by `Annotated[type, "text"]`.
        skip_first: leave out the first parameter (`self` of an unbound method).
        local_names: names that annotations may refer to besides the function's globals.

    Raises:
        TypeError: an argument has no (usable) annotation or cannot be given by keyword.
        ValueError: an argument is not described, or the docstring describes one that is not there.
    """
    bound = function.keywords if isinstance(function, functools.partial) else {}
    signature = list(inspect.signature(function).parameters.values())[1 if skip_first else 0 :]
    parameters = [parameter for parameter in signature if parameter.name not in bound]
    _check_parameters(parameters, label)
    _check_docstring(docstring, inspect.signature(_plain(function)), label)
    hints = _resolve(function, parameters, label, local_names)
    fields = {p.name: hints[p.name] if _is_required(p) else NotRequired[hints[p.name]] for p in parameters}
    adapter = _build_adapter(fields, label)
    raw = adapter.json_schema()
    schema = _flatten(raw, raw.get("$defs", {}), ())
    properties = schema.get("properties", {})
    for parameter in parameters:
        entry = _described(properties[parameter.name], parameter.name, hints, docstring, label)
        if not _is_required(parameter) and parameter.default is not None:
            entry["default"] = to_jsonable_python(parameter.default, fallback=repr)
        properties[parameter.name] = entry
    required = [p.name for p in parameters if _is_required(p)]
    return ArgumentSchema({"type": "object", "properties": properties, "required": required}, adapter)


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function behind partials, wrappers, bound methods and callable objects."""
    if isinstance(function, functools.partial):
        return _plain(function.func)
    if not inspect.isroutine(function):
        function = type(function).__call__
    plain: Callable[..., Any] = inspect.unwrap(getattr(function, "__func__", function))
    return plain


def _check_parameters(parameters: list[inspect.Parameter], label: str) -> None:
    for parameter in parameters:
        if parameter.kind not in _NAMED_KINDS:
            raise TypeError(
                f"{label}: argument {str(parameter).split(':')[0]!r} cannot be given by name; "
                "a tool takes plain named arguments, e.g. (query: str, limit: int = 5)"
            )
        if parameter.annotation is inspect.Parameter.empty:
            raise TypeError(
                f"{label}: argument {parameter.name!r} has no type annotation; "
                f"write for example `{parameter.name}: str`"
            )


def _check_docstring(docstring: Docstring, signature: inspect.Signature, label: str) -> None:
    names = signature.parameters
    for name in docstring.arguments:
        if name not in names:
            raise ValueError(
                f"{label}: the docstring describes {name!r}, which is not an argument"
                f"{did_you_mean(name, names)} (arguments: {listed(names)})"
            )


def _resolve(
    function: Callable[..., Any],
    parameters: list[inspect.Parameter],
    label: str,
    local_names: Mapping[str, Any] | None,
) -> dict[str, Any]:
    module_names = getattr(_plain(function), "__globals__", {})
    hints: dict[str, Any] = {}
    for parameter in parameters:
        holder = type("Holder", (), {"__annotations__": {parameter.name: parameter.annotation}})
        try:
            try:
                found = typing.get_type_hints(holder, module_names, None, include_extras=True)
            except NameError:
                names = dict(local_names or {})
                found = typing.get_type_hints(holder, module_names, names, include_extras=True)
        except (NameError, SyntaxError, TypeError, AttributeError) as error:
            raise TypeError(
                f"{label}: the annotation {parameter.annotation!r} of argument {parameter.name!r} cannot be "
                f"resolved ({error}); use a type that is defined above the tool, at module level"
            ) from error
        hints.update(found)
    return hints


def _build_adapter(fields: dict[str, Any], label: str) -> TypeAdapter[dict[str, Any]]:
    # A TypedDict, not a model: any argument name is allowed, and absent arguments stay absent.
    arguments = TypedDict("Arguments", fields)  # type: ignore[misc]  # mypy wants the fields written out
    arguments.__pydantic_config__ = _CONFIG  # type: ignore[attr-defined]  # pydantic's documented hook
    try:
        adapter: TypeAdapter[dict[str, Any]] = TypeAdapter[Any](arguments)
        adapter.json_schema()
    except PydanticUserError as error:
        reason = str(error).splitlines()[0]
        raise TypeError(
            f"{label}: the arguments cannot be written as a JSON schema ({reason}); use str, int, float, "
            "bool, list, dict, Literal, Enum, dataclasses or pydantic models"
        ) from error
    return adapter


def _described(
    schema: JsonSchema, name: str, hints: Mapping[str, Any], docstring: Docstring, label: str
) -> JsonSchema:
    texts = [extra for extra in getattr(hints[name], "__metadata__", ()) if isinstance(extra, str)]
    own = schema.get("description") if getattr(hints[name], "__metadata__", ()) else None
    text = docstring.arguments.get(name) or " ".join(texts) or own
    if not text:
        raise ValueError(
            f"{label}: argument {name!r} is not described; "
            f'add below "Args:" in the docstring: `{name}: What it means.`'
        )
    head = {"type": schema["type"]} if "type" in schema else {}
    rest = {key: value for key, value in schema.items() if key not in ("type", "description")}
    return {**head, "description": text, **rest}


def _flatten(node: Any, defs: Mapping[str, Any], inside: tuple[str, ...]) -> Any:  # Any: JSON
    """Inline `$ref`, drop titles; a type that contains itself ends as a plain object."""
    if isinstance(node, list):
        return [_flatten(item, defs, inside) for item in node]
    if not isinstance(node, dict):
        return node
    flat: JsonSchema = {}
    if "$ref" in node:
        name = node["$ref"].rsplit("/", 1)[-1]
        flat = {"type": "object"} if name in inside else _flatten(defs[name], defs, (*inside, name))
    for key, value in node.items():
        if key == "properties":
            flat[key] = {name: _flatten(item, defs, inside) for name, item in value.items()}
        elif key == "const":
            flat["enum"] = [value]
        elif key in ("default", "enum", "examples"):
            flat.update({key: value} if value is not None else {})
        elif key not in ("$ref", "$defs", "title") and not (key == "additionalProperties" and value is False):
            flat[key] = _flatten(value, defs, inside)
    return _without_null(flat)


def _without_null(schema: JsonSchema) -> JsonSchema:
    options = schema.get("anyOf")
    if not isinstance(options, list):
        return schema
    rest = {key: value for key, value in schema.items() if key != "anyOf"}
    concrete = [option for option in options if option != {"type": "null"}]
    if len(concrete) < len(options):
        rest["nullable"] = True
    if len(concrete) == 1:
        return {**concrete[0], **rest}
    if all(set(option) == {"type"} for option in concrete):
        return {"type": [option["type"] for option in concrete], **rest}
    return {"anyOf": concrete, **rest}


def _type_words(schema: JsonSchema) -> str:
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if "anyOf" in schema:
        return " | ".join(_type_words(option) for option in schema["anyOf"])
    kind = schema.get("type", "any")
    words = " | ".join(kind) if isinstance(kind, list) else str(kind)
    if kind == "array" and "items" in schema:
        words = f"array of {_type_words(schema['items'])}"
    return f"{words} | null" if schema.get("nullable") else words
