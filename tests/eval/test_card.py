"""Cards of SCMs: what is said is what the spec says, on the page as in the text."""

import html
import re

import pytest
from specs import random_spec

import arena
from arena import authored, cards
from arena.spec import SCMSpec
from eval.card import _sketch, write_card

NASTY = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def spec():
    return authored.spec("formula", "barometric_reduction")


@pytest.fixture(scope="module")
def page(spec, tmp_path_factory):
    return write_card(spec, tmp_path_factory.mktemp("card") / "new" / "card.html").read_text()


def test_every_word_of_the_spec_is_on_the_page(spec, page):
    shown = html.unescape(re.sub(r"<script.*?</script>|<[^>]+>", " ", page, flags=re.DOTALL))
    words = [spec.name, spec.description, *spec.references]
    words += [text for node in spec.nodes for text in (node.name, node.description, node.measurement, node.unit)]
    words += [edge.reason for edge in spec.edges] + [one.reason for one in spec.exceptions]
    words += [t for one in spec.equations for t in (one.relation, one.orientation, one.not_reversed, one.reference)]
    assert not [word for word in words if word not in shown]
    assert page.count('class="sketch"') == len(spec.nodes)


def test_the_text_has_equations_settings_and_exceptions(spec):
    text = cards.text(spec)
    assert "16 variables, 22 edges, 2 that can be set; built around: hypsometric equation" in text
    assert "SLP = p exp(g_eff z / (R_d T_v))    (hypsometric equation, core)" in text
    assert "observation_window: Send the van by night or by day." in text
    assert [line.name for line in cards.lines(spec)].index("sea_level_pressure") > 10


@pytest.mark.parametrize(
    "name, said",
    [
        ("station_pressure", "1 raw_pressure - 1 calibration_drift_bias"),
        ("gps_altitude", "1 surveyed_elevation + 2.5; noise student t(degrees 4, scale 19)"),
        ("raw_pressure", "-0.119 surveyed_elevation + 1 calibration_drift_bias + 1015.5; noise gaussian(scale 4)"),
        ("observation_window", "bernoulli(probability 0.55)"),
        ("altimeter_setting", "step * floor(sea_level_pressure / step), step = 1 hPa"),
    ],
)
def test_equations_are_written_out(spec, name, said):
    assert cards.equation(next(node for node in spec.nodes if node.name == name)) == said


def test_what_is_done_to_an_equation_is_said():
    half = {"family": "linear_additive", "weight": [2.0], "bias": 0.0}
    node = arena.NodeSpec(name="y", parents=["x"], mechanism=half, strength=0.5, extra_noise=0.1, scaling=(3.0, 4.0))
    assert cards.equation(node) == "0.5 times (2 x); more noise gaussian(scale 0.1); then less 3, divided by 4"


def test_any_spec_has_a_card(tmp_path):
    spec = random_spec(0)
    assert len(cards.lines(spec)) == 10 and "10 variables" in cards.text(spec)
    assert write_card(spec, tmp_path / "card.html").read_text().count('class="sketch"') == 10


def test_text_of_a_spec_is_escaped(spec, tmp_path):
    data = spec.model_dump(mode="json")
    data |= {"name": NASTY, "description": NASTY, "references": [NASTY]}
    for node in data["nodes"]:
        node |= {"description": NASTY, "measurement": NASTY, "symbol": NASTY}
    for edge in data["edges"]:
        edge["reason"] = NASTY
    for one in data["equations"]:
        one |= {"relation": NASTY, "reference": NASTY, "law": NASTY}
    page = write_card(SCMSpec.from_dict(data), tmp_path / "card.html").read_text()
    assert NASTY not in page and page.count(html.escape(NASTY)) > 50


def test_a_histogram_counts(spec):
    import numpy as np

    few = _sketch(np.repeat([0.0, 1.0, 5.0], [10, 40, 20]))
    assert few["few"] and few["bars"] == [0.25, 1.0, 0.5] and (few["low"], few["high"]) == ("0", "5")
    many = _sketch(np.append(np.linspace(0, 1, 10_000), 1e6))
    assert not many["few"] and min(many["bars"]) > 0.9 and float(many["high"]) <= 1.0


def test_a_card_that_cannot_be_written_is_one_error(spec, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(arena.DataError, match="cannot write to"):
        write_card(spec, tmp_path / "file" / "card.html")
