import pytest
from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.envs.code.extract import code_blocks, extract_code, unfenced

F = "def f(x):\n    return x\n"
G = "def g(x):\n    return x\n"


@pytest.mark.parametrize("language", ["python", "py", "Python", "python3", "", " python "])
def test_a_fenced_block_is_the_code(language):
    assert extract_code(f"Here:\n```{language}\n{F}```\nDone.", "f") == F


def test_the_last_block_that_defines_the_function_wins():
    text = f"```python\n{F}```\n```python\ndef f(x):\n    return 2\n```\n```python\n{G}```"
    assert extract_code(text, "f") == "def f(x):\n    return 2\n"


@pytest.mark.parametrize(
    "definition", ["f = lambda x: x", "async def f(x): ...", "class f: ...", "f: int = 3"]
)
def test_other_ways_to_define_the_name_count(definition):
    assert extract_code(f"```\n{definition}\n```\n```\nf(3)\nf == 2\n```", "f") == f"{definition}\n"


def test_without_a_defining_block_it_is_the_last():
    assert extract_code(f"```python\n{F}```\n```python\n{G}```", "h") == G


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no code",
        F,
        "```bash\nls\n```",
        "`f`",
        "```python f(1) ```",
        "```python\n\n   \n```",
        "```python\n",
        f"```\n{F}",
        f"```text\n{F}",
    ],
)
def test_no_python_block_or_a_blank_one_is_no_code(text):
    assert extract_code(text, "f") is None


@pytest.mark.parametrize("text", [f"```python\n{F}", f"```py\n{F}\n\n", f"So:\n  ```python\n  {F.rstrip()}"])
def test_a_block_marked_as_python_may_go_on_to_the_end_of_the_text(text):
    assert extract_code(text, "f").split() == F.split()


@pytest.mark.parametrize("info", ["c++", "text", "objective-c", "{.python}", "diff title=x"])
def test_a_fence_with_any_other_language_opens_a_block_that_is_not_python(info):
    assert code_blocks(f"```{info}\n{G}```\n```python\n{F}```") == [F]


def test_words_after_the_language_do_not_matter():
    assert code_blocks(f"```python title=f.py\n{F}```") == [F]


def test_fences_in_a_docstring_are_content():
    code = 'def f(x):\n    """So:\n\n    ```python\n    f(1)\n    ```\n    """\n    return x\n'
    assert code_blocks(f"```python\n{code}```") == [code]
    assert unfenced(code, "f") == code


def test_a_closing_fence_may_be_indented_a_little_and_be_longer():
    assert code_blocks(f"```python\n{F}   ````\ntext") == [F]
    assert code_blocks(f"````python\n{F}# ```\n```\n````") == [f"{F}# ```\n```\n"]


def test_submitted_code_is_taken_out_of_its_fence_by_the_name_of_its_function():
    assert unfenced(f"\n```python\n{F}```\n```python\nf(1)\n```", "f") == F
    assert unfenced("```text\nx\n```", "f") == "```text\nx\n```"
    assert unfenced(F, "f") == F


def test_a_block_left_open_does_not_swallow_the_next():
    assert code_blocks(f"```python\ndef f(\n```python\n{F}```") == [F]


def test_an_indented_block_is_dedented_and_line_ends_are_normal():
    assert extract_code("1. so\r\n   ```python\r\n   def f(x):\r\n       return x\r\n   ```\r\n", "f") == F


@given(st.text(alphabet="`\npy x", max_size=80))
def test_any_text_gives_text_or_nothing(text):
    code = extract_code(text, "f")
    assert code is None or "```" in text
