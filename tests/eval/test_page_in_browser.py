"""The report in a real browser, without a network: sorted, filtered, sliced and opened as a reader does it."""

import json
import urllib.parse

import numpy as np
import pytest
from browsers import CHROMIUM
from toys import InlineWorker, ToyScenario

from arena.dataset import Dataset
from eval.aggregate import leaderboard
from eval.report import best_cells, show, write_html
from eval.report.graphs import unpack
from eval.report.numbers import records
from eval.report.slices import levels
from eval.runner import run

sync_api = pytest.importorskip("playwright.sync_api", reason="needs pip install 'causal-arena[browser]'")
if CHROMIUM is None:
    pytest.skip("needs Chromium: apt-get install chromium", allow_module_level=True)
pytest.importorskip("altair")
pytest.importorskip("vl_convert")


class Linear(ToyScenario):
    """A linear SCM with uniform noise over one graph; what is said of its nodes comes from a spec."""

    def __init__(self, id, graph, **options):
        super().__init__(id, d=len(graph), replicates=1, n=300, **options)
        self.graph = np.array(graph)
        self.factors = {"d": self.d, "graph_family": "dense" if self.graph.sum() > self.d else "sparse", "n": self.n}

    def spec_json(self):
        nodes = []
        for j in range(self.d):
            parents = np.flatnonzero(self.graph[:, j])
            node = {"name": f"x{j}", "parents": [f"x{i}" for i in parents]}
            law = {
                "mechanism": {"family": "linear_additive", "weight": [1.0] * len(parents)},
                "noise": {"family": "uniform"},
            }
            nodes.append({**node, **(law if len(parents) else {"root": {"family": "uniform"}})})
        return json.dumps({"nodes": nodes})

    def load(self, split, replicate):
        rng = np.random.default_rng([len(self.id), self.d, split == "obs"])
        values, mask = np.zeros((self.n, self.d)), np.zeros((self.n, self.d), bool)
        if split == "obs_int":
            mask[self.n // 2 :, 0] = True
        for j in range(self.d):  # the graph is upper triangular
            values[:, j] = np.where(mask[:, j], 1.0, values @ self.graph[:, j]) + rng.uniform(-1, 1, self.n)
        names = tuple(f"x{j}" for j in range(self.d))
        return Dataset(
            names=names, values=values, intervention_mask=mask, adjacency=self.graph, name=self.id, split=split
        )


CHAIN = np.eye(4, k=1, dtype=int)
DENSE = np.triu(np.ones((5, 5), int), 1) - np.eye(5, k=3, dtype=int)
NAME = "toy/a & b <i>\"'"


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    scenarios = [Linear(NAME, CHAIN), Linear("toy/dense", DENSE), Linear("toy/chain", np.eye(5, k=1, dtype=int)),
                 Linear("other/dense", DENSE, family="other")]  # fmt: skip
    methods = ["random_regress", "pc", "gies", "lingam", "empty"]
    return run(scenarios, methods, out=tmp_path_factory.mktemp("runs") / "run", worker=InlineWorker)


@pytest.fixture(scope="module")
def address(finished, tmp_path_factory):
    return write_html(finished, tmp_path_factory.mktemp("page") / "report.html", published=True).as_uri()


@pytest.fixture(scope="module")
def browser():
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def opened(browser, address):
    """The page with its figures drawn; and whatever was asked of a network, or said on the console."""
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    asked, said = [], []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.route("**/*", lambda route: route.continue_() if route.request.url == address else route.abort())
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    page.wait_for_function("document.documentElement.dataset.figures === 'drawn'")
    page.set_default_timeout(10_000)
    return page, asked, said


@pytest.fixture
def page(opened, address):
    """The page as it is when it is opened."""
    page, _, said = opened
    page.goto(address + "#")
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("[...document.querySelectorAll('select[data-filter]')].every((select) => !select.value)")
    yield page
    assert not said


def shown(page, table="leaderboard"):
    """The rows of a table that can be seen, as lists of texts."""
    rows = page.locator(f"#{table} > tbody > tr:visible").all()
    return [row.locator("th, td").all_inner_texts() for row in rows]


def choose(page, name, value):
    page.locator(f"select[data-filter={name}]").select_option(value)


def heading(page, title):
    """The button that sorts the leaderboard by a column."""
    return page.locator("#leaderboard thead").get_by_role("button", name=title, exact=True)


def column(page, title, table="leaderboard"):
    heads = page.locator(f"#{table} > thead th").all_inner_texts()
    return [row[heads.index(title)] for row in shown(page, table)]


def test_it_opens_without_network_or_errors(opened, address):
    page, asked, said = opened
    assert {url.split("#")[0] for url in asked} == {address} and not said
    drawn = page.locator("figure .chart svg")
    assert drawn.count() == page.locator("figure").count() >= 8
    assert not page.get_by_text("could not be drawn").count()
    assert page.locator("#figure-deltas").inner_text().startswith("What changed between two runs")


def test_a_click_on_a_heading_sorts(page, finished):
    scores = finished.leaderboard()["f1"]
    heading(page, "F1").click()
    falling = [show("f1", value) for value in sorted(scores.dropna(), reverse=True)]
    assert [text for text in column(page, "F1") if text != "–"] == falling and column(page, "F1")[-1] == "–"
    heading(page, "F1").click()
    assert [text for text in column(page, "F1") if text != "–"] == falling[::-1] and column(page, "F1")[-1] == "–"
    heading(page, "Method").press("Enter")  # by keyboard too
    assert column(page, "Method") == sorted(column(page, "Method"))
    assert page.locator("#leaderboard th[aria-sort]").all_inner_texts() == ["Method"]


def test_filters_leave_what_was_asked_for(page, finished):
    choose(page, "family", "other")
    choose(page, "split", "obs_int")
    board = finished.leaderboard().query("family == 'other' and split == 'obs_int'")
    assert {row[2].removesuffix(" (floor)") for row in shown(page)} == set(board["method"])
    assert {tuple(row[:2]) for row in shown(page)} == {("other", "obs_int")}
    choose(page, "method", "gies")
    (row,) = shown(page)
    assert show("f1", board.set_index("method")["f1"]["gies"]) in row
    assert column(page, "Scenario", "scenario-table") == ["other/dense"]
    page.wait_for_function("!document.querySelector('#figure-planes svg').textContent.includes('toy')")
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("document.querySelector('#figure-planes svg').textContent.includes('toy')")


def test_a_slice_is_the_leaderboard_of_its_scenarios(page, finished):
    rows = finished.rows()
    chosen = levels(rows)["graph_family", "dense"]
    assert chosen == {"toy/dense", "other/dense"}
    board = leaderboard(rows[rows["scenario"].isin(chosen)])
    page.locator("#slice").select_option(label="graph_family = dense (2)")
    assert column(page, "F1") == [show("f1", value) for value in board["f1"]]
    assert column(page, "n") == [str(value) for value in board["n"]]
    marked = page.locator("#leaderboard tbody td.best").count()
    assert marked == sum(len(best) for best in best_cells(board)) > 0
    assert "2 scenarios with graph_family = dense" in page.locator("#slice-note").inner_text()
    choose(page, "split", "obs_int")
    assert len(shown(page)) == (board["split"] == "obs_int").sum()
    page.get_by_role("button", name="Clear").click()
    page.wait_for_function("document.getElementById('slice-note').textContent === 'All scenarios.'")
    assert column(page, "F1") == [show("f1", value) for value in finished.leaderboard()["f1"]]


def test_a_scenario_opens_at_its_own_address(page, finished):
    page.get_by_role("link", name=NAME, exact=True).first.click()
    page.wait_for_selector("#one-scenario .truth svg")
    asked = urllib.parse.parse_qs(urllib.parse.urlsplit(page.url).fragment)
    assert asked == {"scenario": [NAME], "split": ["obs"]}
    assert not page.locator("#report").is_visible() and page.locator("#scenario-title").inner_text() == f"{NAME}, obs"
    assert page.locator(".truth .node text").all_text_contents() == ["x0", "x1", "x2", "x3"]
    assert page.locator(".truth .edge.true").count() == 3
    lines = shown(page, "scenario-scores")
    assert {line[0].removesuffix(" (floor)") for line in lines} == set(finished.rows()["method"])

    for method in ("gies", "lingam", "random_regress", "empty"):
        answer = finished.estimate(NAME, "obs", 0, method)
        card = page.locator(f".graph[data-method='{method}']")
        row = finished.rows().query("scenario == @NAME and split == 'obs' and method == @method").iloc[0]
        kinds = {kind: card.locator(f".edge.{kind}").count() for kind in ("hit", "reversed", "missed", "invented")}
        assert (kinds["hit"], kinds["reversed"] + kinds["invented"], kinds["reversed"] + kinds["missed"]) == (
            row["tp"], row["fp"], row["fn"])  # fmt: skip
        text = card.locator("details").all_text_contents()
        missed = np.argwhere((answer["truth"] == 1) & (answer["adjacency"] == 0) & (answer["adjacency"].T == 0))
        assert all(f"x{i} → x{j}" in text[0] for i, j in missed)
    page.get_by_role("link", name="Split obs_int").click()
    page.wait_for_function("document.getElementById('scenario-title').textContent.endsWith(', obs_int')")
    page.get_by_role("link", name="Next scenario").click()
    page.wait_for_selector("#scenario-title:has-text('toy/chain')")
    page.get_by_role("link", name="Back to the report").click()
    page.wait_for_selector("#report", state="visible")


def test_graphs_are_drawn_downwards_and_nodes_apart(page):
    page.get_by_role("link", name="toy/dense", exact=True).first.click()
    page.wait_for_selector("#one-scenario .truth svg")
    data = page.evaluate("data.graphs['toy/dense']")
    truth = unpack(data["truth"], data["d"])
    assert (truth == DENSE).all()
    plan = page.evaluate("layout(data.graphs['toy/dense'].names, unpack(data.graphs['toy/dense'].truth, 5))")
    assert all(plan["y"][i] < plan["y"][j] for i, j in np.argwhere(truth))
    big = page.evaluate(
        """() => { const names = [...Array(60).keys()].map((i) => `variable_${i}`), edges = [];
        for (let i = 0; i < 60; i += 1) for (let j = i + 1; j < 60; j += 1 + (i * 7 + j) % 11) edges.push([i, j]);
        return layout(names, edges); }"""
    )
    boxes = sorted(zip(big["y"], big["x"], big["box"], strict=True))
    for (y, x, box), (below, right, other) in zip(boxes, boxes[1:], strict=False):
        assert y < below or x + box / 2 < right - other / 2
    assert min(big["x"]) > 0 and max(big["x"]) < big["width"]


def test_edges_are_compared_pair_by_pair(page):
    found = page.evaluate("compare([[0, 1], [1, 2], [2, 3], [0, 3]], [[0, 1], [2, 1], [0, 3], [3, 0], [1, 3]])")
    assert found == {"hit": [[0, 1], [0, 3]], "reversed": [[1, 2]], "missed": [[2, 3]], "invented": [[3, 0], [1, 3]]}


@pytest.mark.parametrize("width", [360, 800])
def test_the_page_never_scrolls_sideways(opened, page, width):
    page.set_viewport_size({"width": width, "height": 800})
    try:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        table = page.locator("#report .scroll").first
        assert table.evaluate("place => place.scrollWidth > place.clientWidth")
        page.get_by_role("link", name="toy/dense", exact=True).first.click()
        page.wait_for_selector("#one-scenario .truth svg")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    finally:
        page.set_viewport_size({"width": 1300, "height": 900})


def test_the_leaderboard_needs_no_script(browser, address, finished):
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(address)
    assert len(shown(page)) == len(finished.leaderboard())
    assert page.locator("#no-script").is_visible() and not page.locator("#filters").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    context.close()


def test_the_page_has_its_provenance(page, finished):
    text = page.locator("section", has=page.locator("h2#provenance")).inner_text()
    start = finished.provenance()["starts"][0]
    assert start["started"] in text and start["versions"]["jax"] in text and f"seed {start['seed']}" in text
    assert json.dumps(start["cpu_count"]) in text and "12 tables" not in text and "8 tables" in text
    failures = records(finished.failures())
    assert [line["reason"] for line in failures] == column(page, "Reason", "failures") != []
