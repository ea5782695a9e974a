"""The page for people in a real browser: light, dark, on a phone, kept fresh, and sealed."""

import json
from dataclasses import dataclass, replace

from scaler.core.decision import Decision
from scaler.core.model import Instant
from scaler.core.reasons import Reason
from scaler.prometheus.series import Matrix, RawSeries
from tests.builders import NOW
from tests.peers.browser import Tab, browser, tab
from tests.report import Report
from tests.status.page.stage import (
    FakePrometheus,
    Stage,
    idle_decision,
    queue_decision,
    stage,
)

PHONE, DESK = 390, 1400
HOSTILE = "<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>"
PAGES = (
    "",
    "holds",
    "pools",
    "workers",
    "policy",
    "trigger?namespace=team-chat&name=llm&span=1h",
    "trigger?namespace=gpu-nodes&name=a100-pool&span=1h",
)
_LIGHT, _DARK = 200, 60
"""Of 255: a ground is light above the one, dark below the other."""
_LEAST_CONTRAST = 4.5
"""WCAG 2, level AA, for text."""

_CONTRAST = """
(() => {
  const channel = (one) => (one /= 255) <= .03928 ? one / 12.92 : ((one + .055) / 1.055) ** 2.4;
  const parts = (color) => {
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([red, green, blue]) =>
    .2126 * channel(red) + .7152 * channel(green) + .0722 * channel(blue);
  const ground = (node) => {
    for (let at = node; at; at = at.parentElement) {
      const color = parts(getComputedStyle(at).backgroundColor);
      if (color[3] === 255) return color;
    }
    return parts(getComputedStyle(document.body).backgroundColor);
  };
  let worst = [21, ""];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!own || !node.getClientRects().length || node.closest(".off, svg, .skip")) continue;
    const [one, other] = [light(parts(getComputedStyle(node).color)), light(ground(node))];
    const ratio = (Math.max(one, other) + .05) / (Math.min(one, other) + .05);
    if (ratio < worst[0]) worst = [ratio, node.outerHTML.slice(0, 80)];
  }
  return JSON.stringify(worst);
})()
"""

_UNNAMED = """
[...document.querySelectorAll(
  "svg:not([aria-hidden]), input:not([type=hidden]), button, nav, table")]
  .filter((node) => !node.getAttribute("aria-label") && !node.closest("[hidden]"))
  .map((node) => node.outerHTML.slice(0, 80)).join("; ")
"""


def run(report: Report) -> None:
    """Play it.

    Raises:
        NoBrowserError: there is none.
    """
    points = tuple((round((NOW - 3000 + n * 30) * 1000), 60.0) for n in range(60))
    row = RawSeries(labels={"UUID": "GPU-0"}, points=points)
    double = FakePrometheus(answers={"DCGM": Matrix(series=(row,))})
    with browser() as found, stage(prometheus=double) as at, tab(found) as seen:
        scene = Scene(report=report, at=at, seen=seen)
        scene.furnish()
        scene.opens()
        scene.filters()
        scene.updates()
        scene.unknown()
        scene.keeps_what_is_open()
        scene.hostile()
        scene.looks()
        scene.without_script()
        scene.sealed()
        scene.goes_away()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """The parts on stage."""

    report: Report
    at: Stage
    seen: Tab

    def furnish(self) -> None:
        """Publish a past and a present."""
        self.at.publish(*self._calm(at=NOW - 1800), at=NOW - 1800)
        self.at.publish(*self._calm(at=NOW - 1800), changed=[])

    def opens(self) -> None:
        """Open every page."""
        self.seen.look(width=DESK)
        for path in PAGES:
            self.seen.open(self.at.url + path)
            live = self.seen.wait("document.getElementById('live').className === 'on'")
            self._check(f"/{path.partition('?')[0]} opens and is live", live, self.seen.text())
            unnamed = self.seen.value(_UNNAMED)
            self._check("and all that has no text of its own has a label", unnamed == "", unnamed)

    def filters(self) -> None:
        """Search, then take the search back by its chip."""
        self._open()
        self.seen.type("input[type=search]", "asr")
        one = "document.querySelectorAll('tbody tr').length === 1"
        self._check("a search leaves what fits", self.seen.wait(one), self.seen.text())
        held = self.seen.value("document.activeElement.value === 'asr'")
        self._check("and the field keeps its focus and text", held is True, held)
        linked = self.seen.value("location.search")
        self._check("and the address can be passed on", linked == "?q=asr", linked)
        self._open()
        self.seen.value(
            "[...document.querySelectorAll('.chip')].find(c => /Idle/.test(c.textContent)).click()"
        )
        self._check("a chip leaves its reason", self.seen.wait(one), self.seen.text())

    def updates(self) -> None:
        """Change a decision and look on."""
        self._open()
        self.seen.value("window.mark = document.querySelector('tbody tr')")
        self.at.publish(*self._calm(value=7))
        came = self.seen.wait("/\\b7 of 1/.test(document.querySelector('main').innerText)")
        self._check("a decision that changes shows without a reload", came, self.seen.text())
        kept = self.seen.value("document.contains(window.mark)")
        self._check("and the rows stay the same elements", kept is True, kept)

    def unknown(self) -> None:
        """Let the truth be unknown."""
        calm = self._calm()
        held = queue_decision(
            value=None, reason=Reason.NOT_SYNCED, detail="403 on list workloads", at=NOW + 5
        )
        self.at.publish(held, *calm[1:], at=NOW + 5)
        self.at.publish(held, *calm[1:], at=NOW + 60, changed=[])
        came = self.seen.wait(
            "document.querySelector('main').innerText.includes('UNKNOWN: NotSynced')"
        )
        self._check("an UNKNOWN shows as an UNKNOWN, without a reload", came, self.seen.text())
        value = self.seen.text("tr:has(.b-unknown) .number")
        self._check("it has no number", value == "? of 1", value)
        self.seen.open(self.at.url + PAGES[-1])
        gap = self.seen.value(
            "[...document.querySelectorAll('.chart rect')].some(r => "
            "r.getAttribute('fill') === 'url(#hatch-unknown)' && r.getBBox().height > 80)"
        )
        self._check("on its chart it is a hatched gap over the whole height", gap is True, gap)
        painted = self.seen.value(
            "document.querySelector('#hatch-unknown line') && "
            "getComputedStyle(document.querySelector('#hatch-unknown line')).stroke !== 'none'"
        )
        self._check("and the hatch is painted", painted is True, painted)
        low = self.seen.value(
            "[...document.querySelectorAll('.chart line.value')]"
            ".some(line => line.y1.baseVal.value > 121)"
        )
        self._check("and no line goes to 0", low is False, low)
        self.at.publish(*calm)

    def keeps_what_is_open(self) -> None:
        """Open a part, and let the page change under it."""
        self.seen.open(self.at.url + PAGES[-1])
        self.seen.value("document.querySelector('details').open = true")
        self.at.publish(*self._calm(value=9))
        came = self.seen.wait("document.querySelector('main').innerText.includes('GetMetrics 9')")
        still = self.seen.value("document.querySelector('details').open")
        self._check("what a reader opened stays open", came and still is True, self.seen.text())

    def hostile(self) -> None:
        """Let names and messages try to be markup."""
        bad = replace(idle_decision(HOSTILE, namespace="team-x", detail=HOSTILE), metric=HOSTILE)
        self.at.publish(bad, *self._calm())
        self._open()
        self._open("holds")
        self._open()
        came = self.seen.wait("document.querySelector('main').innerText.includes('onerror')")
        self._check("hostile text is shown as text", came, self.seen.text())
        self.seen.value("document.querySelector('tbody a[href*=onerror]').click()")
        there = self.seen.wait("location.pathname === '/trigger' && document.querySelector('h1')")
        title = self.seen.value("document.title")
        safe = there and title != "taken" and self.seen.value("document.images.length") == 0
        self._check("and does nothing", safe, title)
        self.at.publish(*self._calm())

    def looks(self) -> None:
        """Look at all pages on a desk and on a phone, light and dark."""
        for width in (DESK, PHONE):
            for dark in (False, True):
                self._look(width=width, dark=dark)
        self._switch()

    def without_script(self) -> None:
        """Look without a script at all."""
        self.seen.call("Emulation.setScriptExecutionDisabled", value=True)
        self.seen.call("Page.navigate", url=f"{self.at.url}?q=asr")
        shown = self.seen.wait("/team-chat\\/asr/.test(document.body.innerText)")
        rows = self.seen.value("document.querySelectorAll('tbody tr').length")
        self._check(
            "without a script it is a table that can be searched", shown and rows == 1, rows
        )
        self.seen.call("Emulation.setScriptExecutionDisabled", value=False)

    def goes_away(self) -> None:
        """Stop the service while somebody looks."""
        self._open()
        self.at.server.stop()
        late = self.seen.wait("document.getElementById('live').className === 'late'")
        said = self.seen.text("#live")
        self._check("a service that is gone is told", late and "this is old" in said, said)

    def sealed(self) -> None:
        """Judge all that was asked for and complained of."""
        ours = (self.at.url, "about:blank", "data:")
        elsewhere = sorted({url for url in self.seen.asked if not url.startswith(ours)})
        self._check("nothing was asked for elsewhere", not elsewhere, elsewhere)
        loud = self.seen.complaints
        self._check("the console is silent", not loud, loud[:3])

    def _look(self, *, width: int, dark: bool) -> None:
        self.seen.look(width=width, dark=dark)
        name = f"{'phone' if width == PHONE else 'desk'}, {'dark' if dark else 'light'}"
        wide, dim = [], []
        for path in PAGES:
            self._open(path)
            if self.seen.value("document.documentElement.scrollWidth > innerWidth"):
                wide.append(path)
            ratio, where = json.loads(str(self.seen.value(_CONTRAST)))
            if ratio < _LEAST_CONTRAST:
                dim.append((round(ratio, 2), where))
        self._check(f"{name}: nothing scrolls sideways", not wide, wide)
        self._check(f"{name}: text stands out from its ground", not dim, dim)
        ground = self._ground()
        right = ground < _DARK if dark else ground > _LIGHT
        self._check(f"{name}: the ground is so", right, ground)

    def _switch(self) -> None:
        self.seen.look(width=DESK, dark=True)
        self._open()
        self.seen.value("document.getElementById('theme').click()")
        self._check("the switch makes it light", self._ground() > _LIGHT, self._ground())
        self._open()
        self._check("and it stays so on the next page", self._ground() > _LIGHT, self._ground())
        self.seen.value("localStorage.clear()")

    def _ground(self) -> int:
        color = str(self.seen.value("getComputedStyle(document.body).backgroundColor"))
        return int(color.partition("(")[2].partition(",")[0])

    def _open(self, path: str = "") -> None:
        self.seen.open(self.at.url + path)
        self.seen.wait("document.getElementById('live').className === 'on'")

    def _calm(self, *, value: int = 3, at: Instant = NOW) -> tuple[Decision, ...]:
        return (
            queue_decision(value=value, at=at),
            idle_decision("llm", at=at),
            idle_decision("asr", reason=Reason.IDLE, at=at),
        )

    def _check(self, what: str, ok: bool, found: object) -> None:  # noqa: FBT001 - a plain sentence
        self.report.check(what, ok=ok, found=found)
