# SPDX-License-Identifier: Apache-2.0
"""
Proves that the report page shows what this machine measures: it runs explain twice (once beside
short gzip jobs), compare, load at several rates, and watch, and opens their results in Chromium.
Every plot is drawn, numbers are those of the JSON, timelines span the whole latency; nothing is
asked of the network, nothing complains, by keyboard, light and dark, at 400 and 1400 pixels.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from lib import check, netns, process, servers
from lib.trace import HOSTLAT

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import browser  # noqa: E402  (of the page's tests, next door)

LOAD = "--rate", "1000", "--connections", "8"
# Ten jobs of 200 ms each, as cron starts them.
JOBS = "for i in 1 2 3 4 5 6 7 8 9 10; do timeout 0.2 gzip -c /dev/zero >/dev/null; sleep 0.1; done"
PLOTS = {
    "load", "load-parts", "load-over-time", "load-over-load", "load-needed", "stages-ingress", "steps-ingress", "heat", "causes-bar",
    "balloons", "requests-bar", "causes-deviation", "causes-count", "latency", "contexts", "contexts-cores", "conns-limits",
    "conns-rtt", "limits",
    "compare-quantiles", "compare-causes", "overlay", "compare-curve", "compare-curve-difference", "compare-curve-requests",
    "compare-curve-requests-difference",
}
PATIENCE_S = 60     # a page that takes longer has hung; the time itself is printed


def hostlat(*words, name=None, folder=None):
    done = subprocess.run([HOSTLAT, *words], capture_output=True, text=True, timeout=150, check=False)
    check.true(f"{words[0]}: exit {done.returncode}: {done.stderr[-600:]}", done.returncode in (0, 3))
    if name:
        with open(os.path.join(folder, name), "w", encoding="utf-8") as f:
            f.write(done.stdout)
        return json.loads(done.stdout)
    return None


def loading(url):
    return process.start([HOSTLAT, "load", url, *LOAD, "--max-time", "6s", "--json"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measured(folder):
    """The results of real runs, by name; their files are in the folder."""
    net, found = netns.veth(), {}
    at = lambda name: os.path.join(folder, name)
    with netns.inside(net.reader), servers.server("memcached", net.address(4)) as (url, _), netns.inside(net.sender):
        for name, jobs in ("before", None), ("after", JOBS):
            beside = process.start(["sh", "-c", jobs]) if jobs else None
            hostlat("explain", url, *LOAD, "--for", "3s", "-o", at(name))
            if beside:
                beside.wait(30)
            with open(at(f"{name}/result.json"), encoding="utf-8") as f:
                found[name] = json.load(f)
        found["compare"] = hostlat("compare", at("before"), at("after"), "--json", name="compare.json", folder=folder)
        found["rates"] = hostlat("load", url, "--rates", "500:1500:500", "--max-time", "1s", "--json", name="rates.json", folder=folder)
        load = loading(url)
        found["watch"] = hostlat("watch", "--count", "2", "--json", name="watch.json", folder=folder)
        load.wait(60)
    return found


class Pages:
    """A browser, and the page of all results."""

    def __str__(self):
        return "of real runs"

    def __init__(self):
        if not browser.find():
            check.skip("chromium is not installed")
        self.folder = tempfile.TemporaryDirectory(prefix="hostlat")
        self.results = measured(self.folder.name)
        self.path = os.path.join(self.folder.name, "page.html")
        files = [os.path.join(self.folder.name, n) for n in ("before", "after", "compare.json", "rates.json", "watch.json")]
        hostlat("report", "-q", *files, "-o", self.path)
        self.browser = browser.Browser()

    def open(self, path=None, **view):
        page = self.browser.page(**view)
        page.path = path or self.path
        began = time.monotonic()
        page.open(page.path)
        took = time.monotonic() - began
        check.between("seconds until the page is drawn", took, 0, PATIENCE_S)
        page.drawn = page.run("Number(document.documentElement.dataset.drawn)")
        page.run("document.querySelectorAll('details.how').forEach(d => { d.open = true; })")
        page.wait("[...document.querySelectorAll('[data-plot]')].every(n => n.dataset.drawn !== undefined)")
        return page

    def clean(self, page):
        check.equal("complaints of the browser", page.complaints(), [])
        check.equal("what was asked for", page.requests(), ["file://" + page.path])
        page.close()


def drawn(pages):
    page = pages.open()
    plots = dict(page.run("[...document.querySelectorAll('[data-plot]')].map(n => [n.dataset.plot, Number(n.dataset.drawn)])"))
    check.equal("plots that are missing", PLOTS - plots.keys(), set())
    check.equal("plots without a mark", [name for name, marks in plots.items() if not marks], [])
    commands = page.run("[...document.querySelectorAll('article > section[id]')].map(n => n.dataset.command)")
    check.equal("the first section", commands[0], "compare")
    milliseconds, size = page.drawn, os.path.getsize(pages.path)
    pages.clean(page)
    return f"{len(plots)} plots, {size >> 10} KiB, drawn after {milliseconds} ms"


def cells(rows):
    """The raw values of a table's rows, by key and field."""
    return {row[0]: {field: value for field, value, _ in row[1:] if field} for row in rows}


def same(what, shown, row, fields):
    for field in fields:
        check.equal(f"{field} of {what}", shown.get(field), None if row[field] is None else str(row[field]))


def values(pages):
    """Each number that is shown is the result's."""
    compared = 0
    for name in "before", "after":
        document = pages.results[name]
        page = pages.open(os.path.join(pages.folder.name, name, "report.html"))
        p99 = next(q for q in document["load"]["latency"]["intended"]["quantiles"] if q["q"] == 0.99)["ns"]
        row = page.table("latency")[0]
        check.equal("p99 from the intended send", next(c[1] for c in row[1:] if c[0] == "q0.99_ns"), str(p99))
        messages = cells(page.table("messages"))
        check.equal("messages", list(messages), [str(m["id"]) for m in document["diagnose"]["examples"][:len(messages)]])
        for m in document["diagnose"]["examples"][:len(messages)]:
            same(f"message {m['id']}", messages[str(m["id"])], m, ("latency_ns", "deviation_ns", "bytes"))
        causes = cells(page.table("causes"))
        for c in document["diagnose"]["causes"]:
            same(c["cause"], causes[f"{c['cause']}|{c['where']}"], c, ("messages", "total_ns", "median_ns", "p25_ns", "p75_ns", "max_ns"))
        first = page.run("document.querySelector('[data-card] .first').textContent").replace("\u00a0", " ")
        check.equal("the headline", first, document["headline"].replace("\u00a0", " "))
        check.between("its length", len(first), 20, 180)
        shown = page.run("document.querySelector('[data-card]').textContent").replace("\u00a0", " ")
        check.equal("findings that are missing", [f for f in document["findings"] if f.replace("\u00a0", " ").removeprefix("To do: ")[1:] not in shown], [])
        compared += len(messages) + len(causes)
        pages.clean(page)
    page = pages.open(os.path.join(pages.folder.name, "after", "report.html"))
    title = page.run("document.title")
    target = pages.results["after"]["load"]["setup"]["targets"][0]
    check.true(f"the title {title!r} names {target}", title.startswith(target))
    pages.clean(page)
    page = pages.open()
    for row, shown in zip(pages.results["compare"]["quantiles"], page.table("compare-quantiles")):
        same(f"quantile {row['q']}", {f: v for f, v, _ in shown[1:] if f}, row, ("a_ns", "b_ns", "difference_ns", "lo_ns", "hi_ns"))
    for row, shown in zip(pages.results["rates"]["runs"], page.table("runs")):
        same(f"run at {row['rate']}/s", {f: v for f, v, _ in shown[1:] if f}, row, ("p50_ns", "p90_ns", "p99_ns"))
    pages.clean(page)
    return f"{compared} rows"


def timelines(pages):
    """Of real messages, from the arrival to the end, without gap."""
    seen = 0
    for name in "before", "after":
        for m in pages.results[name]["diagnose"]["examples"]:
            spans = m["timeline"]
            if not spans:
                continue
            seen += 1
            check.equal(f"begin and end of message {m['id']}", (spans[0]["begin_ns"], spans[-1]["end_ns"]), (0, m["latency_ns"]))
            check.equal(f"gaps of message {m['id']}", [b for a, b in zip(spans, spans[1:]) if a["end_ns"] != b["begin_ns"]], [])
            check.between("spans", len(spans), 1, 400)
    check.between("messages with a timeline", seen, 10, 1000)
    return f"{seen} messages"


def keyboard(pages):
    page = pages.open(os.path.join(pages.folder.name, "after", "report.html"))
    page.run("document.querySelector('[data-plot=heat] rect[tabindex]').focus()")
    page.key("ArrowRight")
    check.true("a tip with the median", "median" in page.run("document.getElementById('tip').textContent"))
    page.run("document.querySelector('[data-table=messages] tbody tr').focus()")
    page.key("Enter")
    page.wait("Boolean(document.querySelector('dialog[open] .span'))")
    ticks = "[...document.querySelectorAll('dialog [data-plot=timeline] text.tick')].map(n => n.textContent).join()"
    whole = page.run(ticks)
    for _ in range(4):
        page.key("w")
    check.true("the axis is another one after a zoom", page.run(ticks) != whole)
    page.key("0")
    check.equal("the axis after a reset", page.run(ticks), whole)
    page.key("Escape")
    page.wait("!document.querySelector('dialog[open]')")
    pages.clean(page)


def themes_and_widths(pages):
    colors = set()
    for width in 400, 1400:
        for dark in False, True:
            page = pages.open(width=width, height=900, dark=dark)
            check.between(f"width of the page at {width}", page.run("document.documentElement.scrollWidth"), 1, width)
            colors.add(page.run("getComputedStyle(document.body).backgroundColor"))
            pages.clean(page)
    check.equal("backgrounds", len(colors), 2)


if os.geteuid() != 0:
    check.skip("needs root")
if not browser.find():
    check.skip("chromium is not installed")
all_pages = Pages()
try:
    check.run([(case, all_pages) for case in (drawn, values, timelines, keyboard, themes_and_widths)])
finally:
    all_pages.browser.close()
