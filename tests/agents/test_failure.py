import pytest

from grpo_agent.agents.errors import ChatFormatError, EnvContractError, GeneratorError
from grpo_agent.agents.failure import FailureKind, Stage, classify, is_retryable, one_line
from grpo_agent.sandboxes.errors import SandboxBusy, SandboxUnavailable


def caused(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "stage", "kind", "retry"),
    [
        (RuntimeError("x"), Stage.STEP, FailureKind.ENV_ERROR, True),
        (RuntimeError("x"), Stage.GENERATE, FailureKind.GENERATOR, True),
        (GeneratorError("x", retryable=False), Stage.GENERATE, FailureKind.GENERATOR, False),
        (SandboxBusy("x"), Stage.RESET, FailureKind.SANDBOX, True),
        (SandboxUnavailable("x"), Stage.RESET, FailureKind.SANDBOX, False),
        (caused(ValueError("x"), SandboxUnavailable("y")), Stage.STEP, FailureKind.SANDBOX, False),
        (EnvContractError("x"), Stage.STEP, FailureKind.ENV_CONTRACT, False),
        (ChatFormatError("x"), Stage.RESET, FailureKind.ENV_CONTRACT, False),
    ],
)
def test_kind_and_retry_follow_from_the_error(error, stage, kind, retry):
    failure = classify(error, stage)
    assert (failure.kind, failure.stage, is_retryable(error, failure)) == (kind, stage, retry)


def test_the_message_is_one_short_line_with_the_type():
    failure = classify(ValueError("a\nb " + "c" * 1000), Stage.STEP)
    assert failure.message.startswith("ValueError: a b c")
    assert len(failure.message) == 500
    assert one_line(ValueError("a\nb ")) == "a b"
    assert one_line(ValueError("a\nb"), is_typed=True, max_lines=1) == "ValueError: a"
    assert one_line(ValueError(), is_typed=True) == "ValueError"
    assert str(failure).startswith("env_error in step: ValueError")
