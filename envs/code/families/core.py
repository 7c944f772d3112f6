"""What a family of small programming tasks is.

A family is one function to write, with constants, names and wording left open: "multiply by 7" and
"return 4 times n" are two tasks of one family. Everything here is data; tasks are built in `..family`.

Templates (`entry_points`, `wordings`, `solution`) use `string.Template` fields: one per parameter and one
per argument, the latter under its name in the first of `signatures`.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from string import Template
from typing import Any, Literal

from .sampler import Sampler

Topic = Literal["numbers", "strings", "lists", "dicts", "algorithms"]
Parameters = Mapping[str, Any]  # Any: constants of a task, plain data
Arguments = list[Any]  # Any: arguments of one call, plain data

# Alternative argument names, for the signatures that many families share.
NUMBER = ("x", "n", "number", "value")
PAIR = ("x, y", "a, b", "m, n")
NUMBERS = ("xs", "numbers", "values", "nums")
TEXT = ("s", "text", "string")
WORDS = ("words", "strings", "texts")
MAPPING = ("d", "data", "mapping", "table")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The choices that make one task of a family."""

    parameters: Parameters
    entry_point: str
    signature: str
    wording: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One function to write, with its constants, names and wording left open."""

    name: str
    """Unique slug."""
    level: Literal[1, 2, 3]
    """1: a body of one line; 2: a few lines; 3: a small algorithm."""
    topic: Topic
    entry_points: tuple[str, ...]
    """Names that the function may bear."""
    signatures: tuple[str, ...]
    """Alternative argument names, e.g. `("x, y", "a, b")`; the first one names the template fields."""
    wordings: tuple[str, ...]
    """Paraphrases of the whole behaviour; each must settle every case that `edges` and `inputs` reach."""
    solution: str
    """The reference's body."""
    inputs: Sequence[Sampler] | Callable[[Random, Parameters], Arguments]
    """One sampler for each argument, or a function that draws all of them."""
    edges: Sequence[Arguments] | Callable[[Parameters], Sequence[Arguments]]
    """Arguments that every task is tested with."""
    parameters: Mapping[str, Sampler] = field(default_factory=dict)
    """Samplers of the constants."""

    def draw_variant(self, rng: Random) -> Variant:
        """Choose constants, names and wording."""
        parameters = {name: sample(rng) for name, sample in self.parameters.items()}
        return Variant(
            parameters=parameters,
            entry_point=Template(rng.choice(self.entry_points)).substitute(parameters),
            signature=rng.choice(self.signatures),
            wording=rng.choice(self.wordings),
        )

    def draw_arguments(self, rng: Random, parameters: Parameters) -> Arguments:
        """Draw the arguments of one random call."""
        if callable(self.inputs):
            return self.inputs(rng, parameters)
        return [sample(rng) for sample in self.inputs]

    def edge_arguments(self, parameters: Parameters) -> Sequence[Arguments]:
        """The explicit edge cases."""
        return self.edges(parameters) if callable(self.edges) else self.edges

    def statement(self, variant: Variant) -> str:
        """The behaviour in words, arguments set in backticks."""
        names = {field: f"`{name}`" for field, name in self._argument_names(variant).items()}
        return Template(variant.wording).substitute(variant.parameters, **names)

    def source(self, variant: Variant) -> str:
        """The reference solution."""
        body = textwrap.dedent(self.solution).strip()
        filled = Template(body).substitute(variant.parameters, **self._argument_names(variant))
        return f"def {variant.entry_point}({variant.signature}):\n{textwrap.indent(filled, '    ')}\n"

    def _argument_names(self, variant: Variant) -> dict[str, str]:
        fields, names = self.signatures[0].split(", "), variant.signature.split(", ")
        return dict(zip(fields, names, strict=True))
