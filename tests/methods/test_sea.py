"""SEA: the published layout, its trials, what comes out."""

import argparse
import dataclasses

import jax
import numpy as np
import pytest
from published import Layout, publish, rename

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Status
from methods.fit import fit
from methods.preflight import preflight
from methods.sea import CHECKPOINT, SEA, convert
from methods.sea_trials import TOKENS, run_trials

torch = pytest.importorskip("torch")

KEY = jax.random.key(5)
METHOD = SEA(batches=10, batch_size=100, variables=4)
EMBED, INNER, VARS, TRIALS = 8, 12, 20, 40


def layout() -> Layout:
    """The state dict of src/model/aggregator.py, for 2 blocks of size 8, 20 variables and 40 trials."""
    names = Layout()
    names["encoder.embed_tokens.weight"] = (8, EMBED)
    names.linear("encoder.embed_feats", 1, EMBED)
    names["encoder.embed_nodes.weight"] = (VARS + 1, EMBED)
    names["encoder.embed_edges.weight"] = (VARS + 1, EMBED)
    names.linear("encoder.embed_edges.linear", 2 * EMBED, EMBED)
    names.norm("encoder.embed_edges.layer_norm", EMBED)
    names.linear("encoder.embed_edges.linear2", EMBED, EMBED)
    names["encoder.embed_time.weight"] = (TRIALS + 1, EMBED)
    for stream in ("emb", "feat"):
        for place in ("before", "after"):
            names.norm(f"encoder.{stream}_layer_norm_{place}", EMBED)
    for block in ("encoder.layers.0", "encoder.layers.1"):
        names[f"{block}.pad"] = (1,)
        names.linear(f"{block}.linear", 2 * EMBED, EMBED)
        for part in ("feat_layer", "graph_layer"):
            for attention in ("row_attn", "col_attn"):
                names.norm(f"{block}.{part}.{attention}.layer_norm", EMBED)
                for projection in ("q_proj", "k_proj", "v_proj", "out_proj"):
                    names.linear(f"{block}.{part}.{attention}.layer.{projection}", EMBED, EMBED)
            names.norm(f"{block}.{part}.ffn.layer_norm", EMBED)
            names.linear(f"{block}.{part}.ffn.layer.fc1", EMBED, INNER)
            names.linear(f"{block}.{part}.ffn.layer.fc2", INNER, EMBED)
    names.linear("top_layer.linear", 2 * EMBED, 2 * EMBED)
    names.norm("top_layer.layer_norm", 2 * EMBED)
    names.linear("top_layer.linear2", 2 * EMBED, 3)
    return names


def published(**changed) -> dict:
    settings = argparse.Namespace(n_heads=2, max_length=1e8, algorithm="fci")
    return {"state_dict": layout().weights() | changed, "hyper_parameters": {"args": settings}}


@pytest.fixture
def checkpoint(tmp_path, monkeypatch):
    return publish(CHECKPOINT, published(), tmp_path, monkeypatch)


def table(d: int, n: int = 120, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, d)) @ rng.normal(size=(d, d))
    return Dataset(tuple(f"v{j}" for j in range(d)), values)


def test_the_published_layout_runs_to_the_end(checkpoint):
    outcome = fit(METHOD, table(6), KEY)
    assert outcome.status is Status.completed, (outcome.reason, outcome.detail)
    estimate = outcome.estimate
    assert estimate is not None and estimate.scores is not None
    np.testing.assert_array_equal(estimate.adjacency, estimate.scores > 0.5)
    assert not np.diagonal(estimate.scores).any() and estimate.scores[~np.eye(6, dtype=bool)].std() > 0.01
    assert (estimate.scores + estimate.scores.T).max() <= 1
    assert estimate.info["trials"] + estimate.info["failed_trials"] == 10

    again, other = fit(METHOD, table(6), KEY), fit(METHOD, table(6), jax.random.key(6))
    assert again.estimate is not None and again.estimate.scores is not None
    assert other.estimate is not None and other.estimate.scores is not None
    np.testing.assert_array_equal(again.estimate.scores, estimate.scores)
    assert abs(other.estimate.scores - estimate.scores).max() > 0


def test_the_second_class_points_to_the_later_column(tmp_path, monkeypatch):
    hand_set = torch.tensor([0.1, 0.2, 0.7]).log()
    changed = {"top_layer.linear2.weight": torch.zeros(3, 2 * EMBED), "top_layer.linear2.bias": hand_set}
    publish(CHECKPOINT, published(**changed), tmp_path, monkeypatch)
    outcome = fit(METHOD, table(5), KEY)
    assert outcome.estimate is not None and outcome.estimate.scores is not None
    seen = preflight(table(5), positional=True)
    np.testing.assert_array_equal(outcome.estimate.adjacency, seen.restore(np.tril(np.ones((5, 5)), -1)))
    expected = np.triu(np.full((5, 5), 0.2), 1) + np.tril(np.full((5, 5), 0.7), -1)
    np.testing.assert_allclose(outcome.estimate.scores, seen.restore(expected), atol=1e-6)
    loose = fit(dataclasses.replace(METHOD, threshold=0.15), table(5), KEY)
    assert loose.estimate is not None and loose.estimate.adjacency.sum() == 20


def test_fewer_variables_than_a_trial_has(checkpoint):
    outcome = fit(METHOD, table(2), KEY)
    assert outcome.estimate is not None and outcome.estimate.info["variables"] == 2


def test_tokens_stand_where_their_pair_is():
    """left o-> effect <-o right: circle at the cause, arrowhead at the effect, in each trial that has all three."""
    rng = np.random.default_rng(0)
    left, right, other = rng.normal(size=(3, 400))
    values = np.stack([other, left, left + right + 0.3 * rng.normal(size=400), right], axis=1)
    trials = run_trials(values, np.random.default_rng(1), batches=20, rows=400, variables=4)
    assert trials.failed == 0 and trials.tokens.shape == (20, 12)
    np.testing.assert_array_equal(trials.pairs, [(i, j) for i in range(4) for j in range(4) if i != j])
    found = {tuple(pair): set(column) for pair, column in zip(trials.pairs.tolist(), trials.tokens.T, strict=True)}
    circle_arrow, arrow_circle, nothing = TOKENS[2, 1], TOKENS[1, 2], TOKENS[0, 0]
    assert found[1, 2] == found[3, 2] == {circle_arrow} == {6}
    assert found[2, 1] == found[2, 3] == {arrow_circle} == {5}
    assert found[1, 3] == found[3, 1] == {nothing}


def test_each_trial_is_fci_on_its_own_rows_and_variables(monkeypatch):
    """What each trial was given is recognised in the table, and its answer found at the right place."""
    values = np.random.default_rng(0).normal(size=(60, 7))  # no number twice
    given = []

    def fake(data, *_, **__):
        rows, columns = zip(*(np.argwhere(values == cell)[0] for cell in data.ravel()), strict=True)
        rows, columns = (np.reshape(places, data.shape) for places in (rows, columns))
        assert (rows == rows[:, :1]).all() and (columns == columns[0]).all()
        assert len(set(rows[:, 0])) == 20 and len(set(columns[0])) == 3
        given.append(columns[0].tolist())
        marks = np.zeros((3, 3), int)
        marks[0, 2], marks[2, 0] = -1, 1  # the first of its variables causes the last
        return argparse.Namespace(graph=marks), []

    monkeypatch.setattr("causallearn.search.ConstraintBased.FCI.fci", fake)
    trials = run_trials(values, np.random.default_rng(2), batches=30, rows=20, variables=3)
    assert len(given) == 30 and trials.failed == 0
    where = {tuple(pair): place for place, pair in enumerate(trials.pairs.tolist())}
    for tokens, (first, middle, last) in zip(trials.tokens, given, strict=True):
        expected = np.zeros(len(where))
        for i, j in ((first, middle), (middle, first), (middle, last), (last, middle)):
            expected[where[i, j]] = 1
        expected[where[first, last]], expected[where[last, first]] = 2, 3
        np.testing.assert_array_equal(tokens, expected)


def test_trials_shun_pairs_that_were_looked_at_and_half_follow_the_precision_matrix():
    from methods import sea_trials

    rng = np.random.default_rng(0)
    values = rng.normal(size=(300, 12))
    values[:, 1] = values[:, 0] + 0.05 * rng.normal(size=300)  # one pair with huge entries
    chosen, statistics = sea_trials._draw(values, np.random.default_rng(3), 200, 150, 3)
    assert len(chosen) == 200 and all(len(set(units)) == 150 for units, _ in chosen)
    together = [np.isin([0, 1], nodes).all() for _, nodes in chosen]
    assert sum(together[:100]) < 20 and sum(together[100:]) > 70
    visits = np.zeros((12, 12))
    for _, nodes in chosen[:100]:
        visits[np.ix_(nodes, nodes)] += 1
    seen = visits[np.triu_indices(12, 1)]  # of draws that know nothing of each other the spread is 2.1
    assert seen.std() < 1.7 and seen.min() >= 1
    np.testing.assert_allclose(statistics, np.linalg.inv(np.cov(values[chosen[99][0]].T)), rtol=1e-6)


def test_trials_in_which_fci_fails_are_left_out_and_counted(checkpoint, monkeypatch):
    from causallearn.search.ConstraintBased import FCI

    real, calls = FCI.fci, []

    def sometimes(*args, **kwargs):
        calls.append(1)
        if len(calls) % 2:
            raise ValueError("singular\nmatrix")
        return real(*args, **kwargs)

    monkeypatch.setattr(FCI, "fci", sometimes)
    outcome = fit(METHOD, table(6), KEY)
    assert outcome.estimate is not None
    assert outcome.estimate.info["failed_trials"] == outcome.estimate.info["trials"] == 5
    assert outcome.estimate.info["first_failure"] == "ValueError: singular matrix"

    monkeypatch.setattr(FCI, "fci", lambda *args, **kwargs: 1 / 0)
    outcome = fit(METHOD, table(6), KEY)
    assert outcome.status is Status.failed and "FCI gave no graph in any of 10 trials" in outcome.reason


def test_the_network_reads_trials_and_statistics(checkpoint):
    """Each input has an effect, and a trial more or less of the same kind keeps the shape."""
    from methods import bridge, sea_net

    network = bridge.pretrained(checkpoint, sea_net.build)
    rng = np.random.default_rng(0)
    pairs = torch.tensor([(i, j) for i in range(4) for j in range(4) if i != j])
    tokens, statistics = torch.tensor(rng.integers(0, 8, (6, 12))), torch.tensor(rng.normal(size=(4, 4))).float()
    run = lambda *inputs: network(*inputs, torch.Generator().manual_seed(1))  # noqa: E731
    with bridge.inference():
        base = run(tokens, pairs, statistics)
        assert base.shape == (6, 3)
        changed = tokens.clone()
        changed[0, 3] = 7 - changed[0, 3]
        assert abs(run(changed, pairs, statistics) - base).max() > 1e-5
        assert abs(run(tokens, pairs, statistics + torch.eye(4)) - base).max() > 1e-5
        other = network(tokens, pairs, statistics, torch.Generator().manual_seed(2))
        assert abs(other - base).max() > 1e-5  # which embedding stands for which variable is drawn
        with pytest.raises(MethodError, match="41 trials over 12 pairs; the network takes 40 trials"):
            run(tokens[:1].expand(41, -1), pairs, statistics)


def test_too_few_rows_and_interventions_are_refused(checkpoint):
    outcome = fit(SEA(), table(4, n=499), KEY)
    assert outcome.status is Status.unsupported and "at least 500 rows for a trial, found 499" in outcome.reason
    intervened = dataclasses.replace(table(4), intervention_mask=np.ones((120, 4), bool), split=None)
    outcome = fit(METHOD, intervened, KEY)
    assert outcome.status is Status.unsupported and "sea takes obs tables" in outcome.reason


def test_a_wrong_name_is_one_clear_error(checkpoint):
    rename(checkpoint, "encoder.layers.1.pad", "encoder.layers.1.padding")
    outcome = fit(METHOD, table(4), KEY)
    assert outcome.status is Status.unsupported
    assert "'encoder.layers.1.pad' [1] is missing" in outcome.reason and "\n" not in outcome.reason


def test_configuration_is_read_from_weights_and_settings():
    tensors, config = convert(published())
    assert set(tensors) == set(layout())
    assert config == {
        "transformer_num_layers": 2,
        "embed_dim": 8,
        "ffn_embed_dim": 12,
        "num_vars": 20,
        "num_edge_types": 8,
        "max_trials": 40,
        "n_heads": 2,
        "max_length": 1e8,
    }
    with pytest.raises(MethodError, match="'encoder.embed_tokens.weight' is missing"):
        convert({"state_dict": {"other": torch.zeros(1)}})


@pytest.mark.parametrize("setting", [{"threshold": 0.0}, {"batches": 3}, {"batch_size": 1}, {"variables": 1}])
def test_settings_out_of_range(setting):
    with pytest.raises(MethodError, match=next(iter(setting))):
        SEA(**setting)
