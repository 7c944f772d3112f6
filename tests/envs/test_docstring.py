from hypothesis import given
from hypothesis import strategies as st

from grpo_agent.envs.docstring import parse_docstring


def test_description_and_arguments_are_told_apart() -> None:
    parsed = parse_docstring(
        """Search the web.

        Only the first page.

        Args:
            query (str): What to look for,
                over two lines.
            limit: How many.

        Returns:
            A list of links.

        Raises:
            ValueError: never.
        """
    )
    assert parsed.description == "Search the web.\n\nOnly the first page."
    assert parsed.arguments == {"query": "What to look for, over two lines.", "limit": "How many."}


def test_text_after_a_section_is_description_again() -> None:
    parsed = parse_docstring("Do.\n\nArgs:\n    a: One.\n\nNote well.")
    assert parsed.description == "Do.\n\n\nNote well.".replace("\n\n\n", "\n\n")
    assert parsed.arguments == {"a": "One."}


def test_no_docstring_is_empty() -> None:
    assert parse_docstring(None).description == ""


@given(st.text())
def test_any_text_is_taken(text: str) -> None:
    parse_docstring(text)
