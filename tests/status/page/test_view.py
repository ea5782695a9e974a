"""URLs are read with what is understood in them, and links keep the rest."""

from hypothesis import given
from hypothesis import strategies as st

from scaler.status.page.view import LONGEST_TEXT, View, read


def test_a_search_is_words_that_must_all_be_there() -> None:
    """A search is words that must all be there."""
    assert read("/", "q=LLM+busy").words == ("llm", "busy")


def test_what_is_not_understood_is_left_out() -> None:
    """What is not understood is left out."""
    assert read("/", "span=3000y&offset=-1&other=1&q=a") == View(q="a")
    assert read("/", "offset=%C2%B2").offset == 0, "a digit, but no number"
    assert read("/", f"q=a{'&other=1' * 1000}&name=late") == View(q="a")


def test_a_link_keeps_the_search_and_another_path_does_not() -> None:
    """A link keeps the search and another path does not."""
    view = View(path="workers", q="a b", offset=50)
    assert view.href(offset=0, state="Held") == "workers?q=a+b&state=Held"
    assert view.href("pools") == "pools"
    assert View(q="a").href(q="") == "./"


@given(query=st.text(max_size=400))
def test_any_query_is_read(query: str) -> None:
    """Any query is read."""
    assert len(read("/", query).q) <= LONGEST_TEXT


@given(q=st.text(max_size=50), reason=st.text(max_size=20))
def test_a_link_leads_to_the_view_that_it_was_made_of(q: str, reason: str) -> None:
    """A link leads to the view that it was made of."""
    view = View(q=q, reason=reason, span="6h")
    _, _, query = view.href().partition("?")
    assert read("/", query) == view
