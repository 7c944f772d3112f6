"""A training pass without waste on a CPU: the same log-probabilities from fewer positions.

Without Triton, TRL scores every position over the vocabulary, prompts and padding included, and pads
each row to the longest of the batch, and its head goes over each tile of logits again in the backward.
`make_lean` puts a thinner forward around the one that TRL added: equal rows are computed once (unscored
rows are all alike), rows run in parts of similar length at the positions they had, and only positions with
a label reach the head (`head`; TRL's own where that is not exact).

Relies on of TRL: `add_fused_lm_head` replaces `model.forward`; called with `fused_lm_head=True` that
takes the hidden states from `self.base_model`, the head from `self.get_output_embeddings()` and labels
from `shift_labels`, and GRPO reads `log_probs` and `entropy` of what it returns. `make_lean` tries
this out on a few tokens and leaves the model alone if anything differs.

Shapes: `B` rows, `U` distinct rows, `W` columns; a part has `R` rows, `L` columns and `N` labels.
Source: trl 1.16, `trl/trainer/utils.py`, `add_fused_lm_head`.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Sequence
from types import MethodType, SimpleNamespace
from typing import Any, NamedTuple

import torch
from torch import Tensor
from transformers.modeling_outputs import BaseModelOutput
from trl.trainer.utils import FusedCausalLMOutput

from .head import token_scores

logger = logging.getLogger(__name__)

_IGNORED = -100
_TEXT = {"input_ids", "attention_mask", "labels", "fused_lm_head"}
_LOGIT_SETTINGS = (
    "final_logit_softcapping",
    "logit_scale",
    "output_multiplier",
    "lm_head_multiplier",
    "logits_scaling",
)
"""By which TRL's head scales or caps logits."""
_MAX_SCORES = 2**28  # kept for the backward; 512 MiB in bfloat16
_PART_POSITIONS = 100  # what one more part costs, measured in positions: each adds to all gradients
_TOLERANCE = {torch.float32: 1e-3, torch.float64: 1e-3}  # of log-probabilities; of other precisions 0.2

Forward = Callable[..., Any]  # Any: trl is untyped
Head = Callable[..., Any]
"""Of TRL's fused forward, the model, hidden states (`1 x N x H`) and labels (`1 x N`): an output that has
`log_probs` and `entropy` (`1 x N`). Any: trl is untyped."""


def make_lean(trainer: Any) -> bool:  # Any: trl is untyped
    """Thin the forward of a `GRPOTrainer`'s model, and of its reference model, where that is exact and pays.

    Left alone: accelerators, on which TRL is lean itself; sharded models, whose ranks must run in step;
    dropout; a head or a TRL that is not as expected, said in a warning.

    Returns:
        Whether it was done.
    """
    models = [each for each in (trainer.model, trainer.ref_model) if each is not None]
    models = [each.get_base_model() if hasattr(each, "peft_config") else each for each in models]
    if trainer.is_fsdp_enabled or trainer.is_deepspeed_enabled or trainer.accelerator.device.type != "cpu":
        return False
    if any(_drops(model) for model in models):
        return False
    lean = [_thinned(model.forward, _head(trainer, model)) for model in models]
    for model, forward in zip(models, lean, strict=True):
        why = _difference(model, model.forward, forward)
        if why:
            logger.warning("training runs TRL's own, slower forward of %s: %s", type(model).__name__, why)
            return False
    for model, forward in zip(models, lean, strict=True):
        model.forward = MethodType(forward, model)
    return True


def _head(trainer: Any, model: Any) -> Head:  # Any: trl is untyped
    """The plain head where it computes what TRL's does: a bare product in autocast's precision.

    Told by the settings, not by trying: a new bias is 0, a cap is not felt by small logits, and the precision
    shows only under autocast. An entropy bonus needs the gradient of the entropy, which TRL's head has.
    """
    args, config = trainer.args, model.config.get_text_config()
    is_plain = (
        model.get_output_embeddings().bias is None
        and all(getattr(config, name, None) is None for name in _LOGIT_SETTINGS)
        and not (args.cast_lm_head_to_fp32 or args.entropy_coef or args.use_adaptive_entropy)
    )
    return functools.partial(_plain_head, temperature=trainer.temperature) if is_plain else _head_of_trl


class _Rows(NamedTuple):
    """Distinct rows, as long as they are."""

    input_ids: Tensor
    attention: Tensor
    """True on tokens, False on padding."""
    labels: Tensor
    """Of the next token, `_IGNORED` where there is none."""
    of_row: Tensor
    """`B`: which of them each row is."""


class _Picked:
    """What TRL's fused forward asks of a model, for hidden states that are there already."""

    def __init__(self, hidden: Tensor, head: torch.nn.Module) -> None:
        self._hidden, self._head = hidden, head

    def base_model(self, **_: object) -> BaseModelOutput:
        return BaseModelOutput(last_hidden_state=self._hidden)

    def get_output_embeddings(self) -> torch.nn.Module:
        return self._head


def _head_of_trl(fused: MethodType, model: Any, hidden: Tensor, labels: Tensor) -> Any:  # Any: trl is untyped
    head = _Picked(hidden, model.get_output_embeddings())
    return fused.__func__(head, shift_labels=labels, fused_lm_head=True)


def _plain_head(fused: MethodType, model: Any, hidden: Tensor, labels: Tensor, *, temperature: float) -> Any:
    """Scores by `token_scores`, unless there are so many that they are better recomputed by TRL's head."""
    weight = model.get_output_embeddings().weight
    if hidden.size(1) * weight.size(0) > _MAX_SCORES:
        return _head_of_trl(fused, model, hidden, labels)
    log_probs, entropy = token_scores(hidden[0], weight, labels[0], temperature)
    return SimpleNamespace(log_probs=log_probs[None], entropy=entropy[None])


def _thinned(fused: MethodType, head: Head) -> Forward:
    """The forward that TRL made, `fused`, thinned for the calls by which TRL trains on text."""

    @functools.wraps(fused)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:  # Any: as the model's own
        given = {name for name, value in kwargs.items() if value is not None}
        if args or given != _TEXT or not kwargs["fused_lm_head"]:
            return fused(*args, **kwargs)
        rows = _distinct(kwargs["input_ids"], kwargs["attention_mask"], kwargs["labels"])
        outputs, places = [], []
        for part in _parts(rows.attention):
            hidden, labels, place = _hidden(self.base_model, rows, *part)
            outputs.append(head(fused, self, hidden, labels))
            places.append(place)
        spread = functools.partial(_spread, places=torch.cat(places), rows=rows)
        return FusedCausalLMOutput(
            log_probs=spread([each.log_probs for each in outputs]),
            entropy=None if outputs[0].entropy is None else spread([each.entropy for each in outputs]),
        )

    return forward


def _distinct(input_ids: Tensor, attention_mask: Tensor, labels: Tensor) -> _Rows:
    tokens = input_ids.masked_fill(attention_mask == 0, -1)
    tokens, of_row = torch.cat([tokens, labels], dim=1).unique(dim=0, return_inverse=True)  # type: ignore[no-untyped-call] # of torch
    tokens, labels = tokens.chunk(2, dim=1)
    following = torch.nn.functional.pad(labels[:, 1:], (0, 1), value=_IGNORED)
    return _Rows(tokens.clamp(min=0), tokens >= 0, following, of_row)


def _parts(attention: Tensor) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows of similar length: their indices (`R`) and the columns that they take (`R x L`)."""
    first = attention.int().argmax(dim=1)
    lengths, order = (attention.size(1) - attention.flip(1).int().argmax(dim=1) - first).sort()
    for begin, end in _cuts(lengths.tolist()):
        rows = order[begin:end]
        yield rows, first[rows, None] + torch.arange(int(lengths[end - 1]), device=first.device)


def _cuts(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """The runs of ascending `lengths` that cost the least, each padded to its longest."""
    best: list[tuple[int, list[tuple[int, int]]]] = [(0, [])]
    for end in range(1, len(lengths) + 1):
        costs = [best[begin][0] + (end - begin) * lengths[end - 1] + _PART_POSITIONS for begin in range(end)]
        begin = costs.index(min(costs))
        best.append((costs[begin], [*best[begin][1], (begin, end)]))
    return best[-1][1]


def _hidden(backbone: Forward, rows: _Rows, index: Tensor, columns: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hidden states that have a label (`1 x N x H`), the labels (`1 x N`) and their places in `U x W`."""
    width = rows.attention.size(1)
    is_inside = columns < width
    columns = columns.clamp(max=width - 1)
    attention = rows.attention[index].gather(1, columns) & is_inside
    states = backbone(
        input_ids=rows.input_ids[index].gather(1, columns),
        attention_mask=attention.long(),
        position_ids=columns,
        use_cache=False,
    ).last_hidden_state
    labels = rows.labels[index].gather(1, columns)
    has_label = (labels != _IGNORED) & is_inside
    places = index[:, None] * width + columns
    return states[has_label][None], labels[has_label][None], places[has_label]


def _spread(values: list[Tensor], *, places: Tensor, rows: _Rows) -> Tensor:
    """Put values of labels where TRL looks for them: `B x (W - 1)`, 0 without a label."""
    found = torch.cat(values, dim=1)[0]
    whole = found.new_zeros(rows.labels.numel()).scatter(0, places, found)
    return whole.view_as(rows.labels)[:, :-1].index_select(0, rows.of_row)


def _drops(model: torch.nn.Module) -> bool:
    """Whether the model has dropout, by which equal rows differ."""
    settings = model.config.get_text_config().to_dict()  # type: ignore[operator, union-attr] # of transformers
    return any(isinstance(module, torch.nn.Dropout) and module.p > 0 for module in model.modules()) or any(
        isinstance(value, float) and value > 0 for name, value in settings.items() if "dropout" in name
    )


def _difference(model: Any, fused: Any, lean: Forward) -> str:  # Any: trl is untyped
    """How the forwards differ on a few padded tokens, two rows of them equal; empty if they do not."""
    try:
        with torch.no_grad():
            call = _sample(model)
            stock, thin = fused(**call), lean(model, **call)
            gap = max(
                float((ours - theirs).abs().max())
                for ours, theirs in ((thin.log_probs, stock.log_probs), (thin.entropy, stock.entropy))
            )
    except Exception as error:  # noqa: BLE001 - whatever is not as expected; TRL's own forward remains
        return f"{type(error).__name__}: {error}"
    allowed = _TOLERANCE.get(model.dtype, 0.2)
    return "" if gap <= allowed else f"log-probabilities or entropies would differ by {gap:.2g}"


def _sample(model: Any) -> dict[str, Any]:  # Any: trl is untyped
    attention = torch.tensor([[0, 1, 1, 1, 1, 1, 0], [0, 0, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0, 0]])[
        [0, 1, 2, 1]
    ]
    ids = torch.arange(7) % model.config.get_text_config().vocab_size * attention
    labels = ids.masked_fill(attention == 0, _IGNORED)
    labels[:, :3] = _IGNORED
    call = {"input_ids": ids, "attention_mask": attention, "labels": labels}
    return {name: value.to(model.device) for name, value in call.items()} | {"fused_lm_head": True}
