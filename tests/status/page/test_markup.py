"""No text becomes markup."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from scaler.status.page.markup import document, el, join

HOSTILE = '<script>alert(1)</script>"onmouseover="alert(2)\'&amp;'


class Reader(HTMLParser):
    """Read markup as a browser does: elements, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note it."""
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        """Note it."""
        self.text += data


def test_text_and_attributes_come_back_as_they_were_and_as_nothing_else() -> None:
    """Text and attributes come back as they were and as nothing else."""
    read = Reader(str(el("p", HOSTILE, title=HOSTILE)))
    assert read.tags == ["p"]
    assert read.attributes == [("title", HOSTILE)]
    assert read.text == HOSTILE


@given(text=st.text(), value=st.text())
def test_whatever_the_text_there_is_one_element_with_one_attribute(text: str, value: str) -> None:
    """Whatever the text there is one element with one attribute."""
    read = Reader(str(el("p", text, title=value)))
    assert read.tags == ["p"]
    assert [name for name, _ in read.attributes] == ["title"]


def test_characters_that_hide_or_turn_text_around_are_shown_as_unreadable() -> None:
    """Characters that hide or turn text around are shown as unreadable."""
    assert str(el("b", "a\u202eb\x00c\u200bd")) == "<b>a\ufffdb\ufffdc\ufffdd</b>"


def test_letters_of_any_script_and_lines_stay() -> None:
    """Letters of any script and lines stay."""
    assert str(el("b", "größe 大\nü")) == "<b>größe 大\nü</b>"


def test_children_may_be_nested_and_nothing_is_nothing() -> None:
    """Children may be nested and nothing is nothing."""
    assert str(el("ul", [el("li", 1), None, (el("li", "<") for _ in range(2))])) == (
        "<ul><li>1</li><li>&lt;</li><li>&lt;</li></ul>"
    )


def test_attributes_can_be_alone_or_absent() -> None:
    """Attributes can be alone or absent."""
    made = el("input", type="text", hidden=True, name=None, checked=False, data_key=3)
    assert str(made) == '<input type="text" hidden data-key="3">'


def test_class_is_written_as_html_does() -> None:
    """Class is written as html does."""
    assert str(el("rect", class_="a", fill_opacity="0.5")) == (
        '<rect class="a" fill-opacity="0.5"></rect>'
    )


def test_a_document_says_what_it_is() -> None:
    """A document says what it is."""
    assert document(join("a", el("b", "c"))) == "<!doctype html>\na<b>c</b>\n"
