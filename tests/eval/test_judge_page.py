"""The judge's page: its numbers are those of the report, its text is escaped, and a browser shows it as it is."""

import html
import json
import re

import numpy as np
import pytest
from browsers import CHROMIUM
from judged import N, shared_room

import arena
from arena import hypotheses_cli
from arena.errors import DataError
from eval.hypotheses import words
from eval.hypotheses.checks import at_most
from eval.hypotheses.designs import CURVE, FEW
from eval.hypotheses.doses import labels
from eval.hypotheses.evaluate import Judge
from eval.hypotheses.page import write_html
from eval.hypotheses.simulator import Simulator
from eval.report import drawn

NASTY, LABEL, UNIT = "<script>alert('x')</script>", '<b>late</b> & "loud"', "kg</script>"
GAUSS = {"root": {"family": "gaussian", "mean": 0.0, "scale": 1.0}}


def linear(operand, weight, **more):
    return {"op": "linear", "operand": operand, "weight": weight, **more}


def caused(name, cause, weight):
    terms = [linear(cause, weight, at=0.0, scale=1.0)]
    return {"name": name, "parents": [cause], "mechanism": {"family": "terms", "terms": terms},
            "noise": {"family": "gaussian", "scale": 0.6}}  # fmt: skip


TERMS = [
    {"op": "threshold", "operand": NASTY, "weight": 2.0, "at": 0.5, "scale": 1.0, "label": LABEL,
     "archetype": "monotone_threshold"},
    {"op": "interaction", "operand": "a", "by": "b", "by_at": 0.5, "by_scale": 0.5, "at": 0.0, "scale": 1.0,
     "weight": 1.0, "label": "reversal", "archetype": "interaction_reversal"},
    linear("m", 1.5, at=0.0, scale=1.0, label="chain", archetype="mediation_chain"),
    linear("v", 1.0, at=0.0, scale=1.0, label="paradox", archetype="simpsons_paradox"),
    linear("h", -2.2, at=0.0, scale=1.0),
    {"op": "category", "operand": "c", "level": 1.0, "weight": 1.5, "label": "level", "archetype": "category_level"},
]  # fmt: skip
SPEC = {
    "name": "<i>toy</i>",
    "outcome": "y",
    "nodes": [
        *({"name": name, **GAUSS} for name in ("a", "h", "s")), {"name": NASTY, "unit": UNIT, **GAUSS},
        {"name": "b", "root": {"family": "ordinal", "probability": [0.5, 0.5]}, "kind": "binary"},
        {"name": "c", "root": {"family": "ordinal", "probability": [0.3, 0.3, 0.4]}, "kind": "categorical"},
        caused("m", "s", 0.8), caused("v", "h", 0.8),
        {"name": "y", "parents": [NASTY, "a", "b", "m", "v", "h", "c"],
         "mechanism": {"family": "terms", "terms": TERMS}, "noise": {"family": "gaussian", "scale": 1.0}},
    ],
}  # fmt: skip
REJECTED = [{"variable": "</td><script>alert(2)</script>", "form": "threshold"}, "half a pair: \ud800 <img src=x>"]
OTHERS = [
    {"variable": NASTY},
    {"variable": "a", "form": "threshold"},
    {"variable": NASTY, "form": "threshold", "direction": "-"},
]


@pytest.fixture(scope="module")
def judge():
    return Judge(Simulator(arena.SCMSpec.from_dict(SPEC)), N, shared_room())


@pytest.fixture(scope="module")
def proposals(judge):
    return [*(one.model_dump() for one in judge.oracle()[1:]), *OTHERS, *REJECTED]


@pytest.fixture(scope="module")
def report(judge, proposals):
    return judge.report(proposals)


@pytest.fixture(scope="module")
def path(judge, report, proposals, tmp_path_factory):
    return write_html(judge, report, proposals, tmp_path_factory.mktemp("judge") / "new" / "page.html")


@pytest.fixture(scope="module")
def text(path):
    return path.read_text(encoding="utf-8")


def plain(markup):
    return html.unescape(re.sub(r"<[^>]*>", "", markup)).replace("−", "-").replace("\xa0", " ")


def rows(text):
    """The rows of proposals: verdict, and cells as text."""
    found = re.findall(r'<tr id="proposal-\d+" data-verdict="(\w+)".*?>\s(.*?)</tr>', text, re.DOTALL)
    cells = r"<(?:td|th)\b.*?>(.*?)</(?:td|th)>"
    return [(status, [plain(cell) for cell in re.findall(cells, row, re.DOTALL)]) for status, row in found]


CHECK = re.compile(r"([✓✗]) (.*?) (-?[\d.]+|∞)(?: ± (\S+))? (SD|share), limit ([≥≤]) (\S+), margin (\S+)")


def test_the_table_has_the_numbers_of_the_report(report, text):
    lines, expected = rows(text), report.as_json()["proposals"]
    assert len(lines) == len(expected) == 9
    assert {status for status, _ in lines} == {"confirmed", "refuted", "no_structure", "rejected"}
    for (status, cells), verdict in zip(lines, expected, strict=True):
        assert status == verdict["status"] and cells[2] == words.STATUS[status]
        found = CHECK.findall(cells[6])
        assert len(found) == len(verdict.get("checks", ()))
        for line, check in zip(found, verdict.get("checks", ()), strict=True):
            mark, name, value, error, unit, _, limit, margin = line
            assert (mark == "✓", name, unit) == (check["passed"], check["name"], check["unit"])
            for shown, number in ((value, check["value"]), (limit, check["limit"]), (margin, check["margin"])):
                endless = number is None or abs(number) >= 1e6  # JSON has no infinity
                exact = pytest.approx(number, abs=6e-4 if endless or abs(number) < 1000 else 0.51)
                assert shown.lstrip("-") == "∞" if endless else float(shown) == exact
            assert (error == "") == (unit == "share") and float(error or 0) == pytest.approx(check["error"], rel=0.06)
        if status == "refuted":
            assert verdict["reason"].startswith(cells[3][0].lower() + cells[3][1:].partition(".")[0])
        if status == "rejected":
            assert cells[3] == verdict["reason"][:1].upper() + verdict["reason"][1:] + "." and cells[4] == "–"
        else:
            assert float(cells[4].split(" ± ")[0]) == pytest.approx(verdict["total_effect"]["effect"], abs=6e-4)
            assert float(cells[5]) == pytest.approx(verdict["margin"], abs=6e-4)


def test_scores_and_cards_are_those_of_the_report(report, text):
    scores = re.findall(r"<li><strong>(.*?)</strong> <span class=\"name\">(.*?)</span> <span class=\"of\">(.*?)<", text)
    assert scores == [
        (f"{report.family_recall:.3f}", "Recall", "5 of 5 plants"),
        (f"{report.confirmed_recall:.3f}", "Confirmed recall", "4 of 5 plants"),
        (f"{report.claim_precision:.3f}", "Claim precision", "4 of 9 proposals"),
        (f"{report.directional_precision:.3f}", "Directional precision", scores[3][2]),
    ]
    cards = re.findall(r'<figure class="plant".*?</figure>', text, re.DOTALL)
    for card, recovery in zip(cards, report.recoveries, strict=True):
        assert f"<h3>{html.escape(recovery.plant.label, quote=False).replace(chr(34), '&#34;')}</h3>" in card
        links = {int(number) - 1 for number in re.findall(r'href="#proposal-(\d+)"', card)}
        assert links == set(recovery.by)
        confirmed = {int(number) - 1 for number in re.findall(r'href="#proposal-\d+">(\d+)</a> ✓', card)}
        assert confirmed == set(recovery.confirmed_by)
        assert len(CHECK.findall(plain(card))) == len(recovery.signature.checks)
    assert ["not found" in card for card in cards] == [False] * 5
    assert ["named, no claim confirmed" in card for card in cards] == [True] + [False] * 4


def numbers(text, plant):
    """The numbers of a plant's figure: line, dose, effect, error."""
    card = re.findall(r'<figure class="plant".*?</figure>', text, re.DOTALL)[plant]
    table = re.findall(r"<tr>(<td.*?)</tr>", card)
    lines = [[plain(cell) for cell in re.findall(r"<td.*?>(.*?)</td>", row)] for row in table]
    return [("" if len(line) == 3 else line[0], *map(float, line[-3:])) for line in lines]


def test_figures_are_the_equation(judge, text):
    """Doses against what the equation says, in closed form."""
    data, sd = judge.laboratory.values, judge.laboratory.response.scale
    hinge = lambda x: 2.0 * np.maximum(np.asarray(x) - 0.5, 0.0)  # noqa: E731

    def expect(plant, value):
        found = numbers(text, plant)
        wanted = [value(line, dose) / sd for line, dose, _, _ in found]
        assert [effect for _, _, effect, _ in found] == pytest.approx(wanted, abs=4e-3)
        return found

    found = expect(0, lambda _, x: hinge(x) - hinge(data[NASTY]).mean())
    assert len(found) == len(CURVE) and all(error > 0 for _, _, _, error in found)
    mean = (data["a"] * (2 * data["b"] - 1)).mean()
    found = expect(1, lambda b, a: a * (2 * float(b) - 1) - mean)
    assert {line for line, *_ in found} == {"0", "1"}
    found = expect(2, lambda line, s: 1.2 * (s - data["s"].mean()) * (line == "free to respond"))
    assert len(found) == 2 * len(FEW)
    # Correlation in the data, without the noise of the outcome, which is independent of everything.
    v, z = data["v"], (data["v"] - data["v"].mean()) / data["v"].std()
    slope = np.cov(z, data["y"])[0, 1]
    assert slope < 0
    found = numbers(text, 3)
    for line, dose, effect, error in found:
        at = (dose - v.mean()) / v.std()
        wanted = (dose - v.mean()) / sd if line == "set by do()" else slope * at / sd
        assert effect == pytest.approx(wanted, abs=4e-3 if line == "set by do()" else 0.1 * float(abs(at)))
        assert line == "set by do()" or error == pytest.approx(abs(at) / len(v) ** 0.5, rel=0.5)
    expect(4, lambda _, c: 1.5 * ((c == 1) - (data["c"] == 1).mean()))


def test_nothing_of_a_spec_or_a_proposal_is_markup(text):
    script = "<script>"  # figures and their library, the page's own code
    assert text.count(script) == 2 and text.count("<script") == 3
    own = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"<(script|img|i|em)\b|alert\('x'\)<|<b>late", own)
    assert html.escape(NASTY, quote=False).replace("'", "&#39;") in own
    assert "half a pair: \\ud800 &lt;img src=x&gt;" in own and "&lt;i&gt;toy" in own
    specs = re.search(r'id="specs">(.*?)</script>', text)
    assert specs and UNIT in json.dumps(json.loads(specs.group(1))) and "<" not in specs.group(1)


def test_the_page_is_one_offline_file(text, path):
    own = re.sub(r"<script>.*?</script>", "", text, flags=re.DOTALL)
    assert not re.search(r"""url\(|@import|<link|<img|<iframe|\bsrc=["']|href="[^#]""", own)
    assert [found.name for found in path.parent.iterdir()] == ["page.html"]


def test_a_thousand_proposals_nothing_and_no_figures(judge, report, proposals, tmp_path, monkeypatch):
    many = proposals * 112
    page = write_html(judge, judge.report(many), many, tmp_path / "many.html")
    assert page.stat().st_size < 3e6 and len(rows(page.read_text())) == len(many) > 1000
    monkeypatch.setattr(drawn, "figures_available", lambda: False)
    text = write_html(judge, judge.report([]), [], tmp_path / "none.html").read_text()
    assert drawn.INSTALL in html.unescape(text) and len(text) < 1e5
    assert text.count("no proposal") >= 5 and "None were made" in text and "0 of 0 directions" in text
    assert len(numbers(text, 0)) == len(CURVE)
    spec = {**SPEC, "nodes": [{"name": "x", **GAUSS}, caused("y", "x", 1.0)]}
    null = Simulator(arena.SCMSpec.from_dict(spec))
    monkeypatch.setattr(judge, "simulator", null)
    text = write_html(judge, judge.report([]), [], tmp_path / "null.html").read_text()
    assert "nothing to be found" in text and text.count("<strong>–</strong>") == 3


def test_the_command_writes_it(judge, proposals, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(hypotheses_cli, "_simulator", lambda spec, seed: judge.simulator)
    monkeypatch.setattr(drawn, "figures_available", lambda: False)
    (tmp_path / "claims.json").write_text(json.dumps(proposals))
    monkeypatch.setattr("eval.hypotheses.evaluate.Laboratory", lambda *_: judge.laboratory)
    out = tmp_path / "new" / "page.html"
    hypotheses_cli.judge(tmp_path, tmp_path / "claims.json", units=N, html=out)
    assert f"Page: {out}" in capsys.readouterr().err and "named, no claim confirmed" in out.read_text()
    with pytest.raises(DataError, match="cannot write to"):
        hypotheses_cli.judge(tmp_path, tmp_path / "claims.json", units=N, html=tmp_path)


def test_words():
    assert words.number(-0.0001) == "0.000" and words.number(-1.5) == "−1.500"
    assert words.number(float("inf")) == "∞" == words.number(1e9) and words.number(float("-inf")) == "−∞"
    assert words.limit(at_most("", 0.1, 0.5, "")) == "≤\xa00.500"
    assert labels((0.1, 0.2)) == ("0.1", "0.2") and labels((1000.25, 1000.5)) == ("1000.2", "1000.5")
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert "too deep" in words.proposed(deep) and len(words.proposed("x" * 1000)) == words.MOST


def test_in_a_browser(path, report):
    """No network, no error, as many dots as doses; filters hide, links find."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs pip install 'causal-arena[browser]'")
    if CHROMIUM is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 360, "height": 800})
        asked, said = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.set_default_timeout(10_000)
        page.goto(path.as_uri())
        page.wait_for_function("document.documentElement.dataset.figures === 'drawn'")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        page.set_viewport_size({"width": 1300, "height": 900})
        dots = [card.locator("svg [aria-roledescription=point]").count() for card in page.locator(".plant").all()]
        assert dots == [len(CURVE), *[2 * len(FEW)] * 3, 0]
        bars = page.locator("#plant-5 svg [aria-roledescription=bar]")
        assert bars.count() == 3 and not page.get_by_text("could not be drawn").count()
        assert f"{NASTY} ({UNIT})" in page.locator("#plant-1 svg").text_content()

        def shown():
            return page.locator("#proposal-table > tbody > tr:visible")

        page.locator("select[data-filter=verdict]").select_option("rejected")
        assert shown().count() == 2 and "2 of 9 shown" in page.locator("#shown").inner_text()
        assert "<script>alert(2)</script>" in shown().first.inner_text()
        page.locator("#plant-2 a").first.click()
        page.wait_for_selector("#proposal-1", state="visible")
        assert shown().count() == 9
        page.get_by_role("button", name="Margin", exact=True).click()
        margins = [cell.inner_text() for cell in page.locator("#proposal-table > tbody > tr > td:nth-child(6)").all()]
        found = [float(margin.replace("−", "-")) for margin in margins if margin != "–"]
        assert found == sorted(found, reverse=True) and margins[-2:] == ["–", "–"] and len(found) == 7
        browser.close()
    assert asked == [path.as_uri()] and not said
