"""How the pages are answered: conditional, guarded, cheap for a crowd."""

import gzip
import re
import threading

from scaler.core.reasons import Reason
from scaler.status.page.pages import MAX_KEPT
from tests.builders import NOW
from tests.status.page.stage import idle_decision, queue_decision, stage


def test_a_page_that_did_not_change_is_not_sent_again() -> None:
    """A page that did not change is not sent again."""
    with stage() as at:
        at.publish(idle_decision())
        _, headers, page = at.get()
        again, more, nothing = at.get(**{"If-None-Match": headers["ETag"]})
    assert page
    assert (again, nothing) == (304, "")
    assert float(more["Scaler-Now"]) == NOW
    assert float(more["Scaler-As-Of"]) == NOW


def test_the_moment_goes_on_while_the_page_stays_the_same() -> None:
    """Else each look would send all again."""
    with stage() as at:
        at.publish(idle_decision(), at=NOW + 1)
        _, headers, _ = at.get()
        at.publish(idle_decision(), at=NOW + 2, changed=[])
        at.server._pages._kept.clear()
        status, more, _ = at.get(**{"If-None-Match": headers["ETag"]})
    assert (status, float(more["Scaler-As-Of"])) == (304, NOW + 2)


def test_a_decision_that_changed_is_sent() -> None:
    """A decision that changed is sent."""
    with stage() as at:
        at.publish(idle_decision())
        _, headers, _ = at.get()
        at.publish(idle_decision(reason=Reason.IDLE))
        at.server._pages._kept.clear()
        status, _, page = at.get(**{"If-None-Match": headers["ETag"]})
    assert status == 200
    assert "Idle" in page


def test_a_crowd_that_looks_at_the_same_costs_one_rendering() -> None:
    """A crowd that looks at the same costs one rendering."""
    with stage() as at:
        at.publish(idle_decision())
        kept = at.server._pages
        first = kept.render("/", "")
        assert kept.render("/", "") is first


def test_renderings_that_are_kept_are_bounded() -> None:
    """Renderings that are kept are bounded."""
    with stage() as at:
        for number in range(3 * MAX_KEPT):
            at.get(f"?q={number}")
        assert len(at.server._pages._kept) == MAX_KEPT


def test_many_readers_at_once_all_get_it() -> None:
    """Many readers at once all get it."""
    with stage() as at:
        at.publish(*(queue_decision(f"p{number}") for number in range(100)))
        found: list[int] = []
        readers = [
            threading.Thread(target=lambda n=n: found.append(at.get(f"?q=p{n}")[0]))
            for n in range(20)
        ]
        for reader in readers:
            reader.start()
        for reader in readers:
            reader.join()
    assert found == [200] * 20


def test_a_page_is_packed_for_those_that_take_it() -> None:
    """A page is packed for those that take it."""
    with stage() as at:
        at.publish(idle_decision())
        rendered = at.server._pages.render("/", "")
        _, headers, plain = at.get()
        assert "Content-Encoding" not in headers
        assert gzip.decompress(rendered.packed).decode() == plain


def test_nothing_inline_and_nothing_from_elsewhere_may_run() -> None:
    """Nothing inline and nothing from elsewhere may run."""
    with stage() as at:
        _, headers, page = at.get()
    guard = headers["Content-Security-Policy"]
    assert "default-src 'none'" in guard
    assert "unsafe" not in guard
    assert "http" not in guard
    assert re.findall(r"<script(?! src=\"page\.js\?v=[0-9a-f]+\"></script>)", page) == []
    assert "<style" not in page


def test_style_script_and_icon_come_from_the_same_port_for_ever() -> None:
    """Style script and icon come from the same port for ever."""
    with stage() as at:
        _, _, page = at.get()
        for address in re.findall(r'(?:href|src)="((?:page|icon)\.[^"]+)"', page):
            status, headers, text = at.get(address)
            assert status == 200
            assert "immutable" in headers["Cache-Control"]
            assert "://" not in text.replace("http://www.w3.org/2000/svg", "")


def test_the_script_makes_no_markup_of_text() -> None:
    """The script makes no markup of text."""
    with stage() as at:
        script = at.get("page.js")[2]
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert word not in script


def test_a_service_that_stopped_deciding_is_told_on_the_page() -> None:
    """A service that stopped deciding is told on the page."""
    with stage() as at:
        at.store._elapsed = lambda: 1e9
        assert "what is shown is old" in at.get()[2]
