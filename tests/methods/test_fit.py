import dataclasses
import json
import random
import sys
import types

import jax
import numpy as np
import pandas as pd
import pytest

from arena.dataset import Dataset
from arena.errors import MethodError
from methods.base import Capabilities, Estimate, Method, Outcome, Status
from methods.fit import fit, preserved, seeded
from methods.function import FunctionMethod
from methods.registry import as_method

KEY = jax.random.key(0)


def returning(matrix):
    return as_method(lambda table: np.array(matrix))


def raising(error):
    def method(table):
        raise error

    return as_method(method)


@dataclasses.dataclass(frozen=True)
class Declared(Method):
    """A method with any capabilities, that returns any estimate."""

    capabilities: Capabilities = Capabilities()  # noqa: RUF009  (frozen)
    answer: object = None

    name = title = "declared"

    def fit(self, dataset, key):
        return self.answer


def test_completed(collider):
    outcome = fit(returning(collider.truth), collider, KEY)
    assert outcome.status is Status.completed and outcome.reason == "" and outcome.estimate is not None
    np.testing.assert_array_equal(outcome.estimate.adjacency, collider.truth)
    assert set(outcome.seconds) == {"load", "fit"} and min(outcome.seconds.values()) >= 0


@pytest.mark.parametrize(
    "matrix, reason",
    [
        (np.zeros((2, 2)), "adjacency has shape (2, 2), expected (3, 3)"),
        (np.zeros(3), "adjacency has shape (3,)"),
        ([[0, np.nan, 0], [0, 0, 0], [0, 0, 0]], "score left -> effect is nan; every entry must be finite"),
        (np.eye(3), "edge from 'left' to itself"),
        ([["a", "b", "c"]] * 3, "the function returned ndarray, expected numbers in a [3, 3] matrix"),
    ],
)
def test_invalid_answers(matrix, reason, collider):
    outcome = fit(returning(matrix), collider, KEY)
    assert outcome.status is Status.invalid and outcome.estimate is None
    assert reason in outcome.reason


@pytest.mark.parametrize(
    "answer, reason",
    [
        (None, "returned NoneType, not an Estimate"),
        (Estimate(np.full((3, 3), 2) - 2 * np.eye(3)), "is 2.0; entries must be 0 or 1"),
        (Estimate(np.zeros((3, 3)), scores=np.zeros((2, 3))), "score has shape"),
        (Estimate(np.zeros((3, 3)), native=np.eye(3)), "native has an edge from"),
    ],
)
def test_invalid_estimates(answer, reason, collider):
    outcome = fit(Declared(answer=answer), collider, KEY)
    assert outcome.status is Status.invalid and reason in outcome.reason


@pytest.mark.parametrize(
    "native, reason",
    [
        ([[0, 4, 0], [1, 0, 0], [0, 0, 0]], "left -> effect is 4; entries must be 0, 1, 2 or 3"),
        ([[0, 2, 0], [0, 0, 0], [0, 0, 0]], "a mark at 'effect' and none at 'left'"),
        ([[1, 0, 0], [0, 0, 0], [0, 0, 0]], "native has an edge from 'left' to itself"),
    ],
)
def test_marks_of_a_pag_are_checked(native, reason, collider):
    answer = Estimate(np.zeros((3, 3)), native=np.array(native))
    outcome = fit(Declared(Capabilities(output="pag"), answer), collider, KEY)
    assert outcome.status is Status.invalid and reason in outcome.reason


def test_marks_of_a_pag_come_back_in_the_columns_of_the_table(collider):
    marks = np.array([[0, 2, 0], [3, 0, 3], [0, 2, 0]])
    still = Dataset(("still", *collider.names), np.column_stack([np.ones(collider.n), collider.values]))
    outcome = fit(Declared(Capabilities(output="pag"), Estimate(marks > 2, native=marks)), still, KEY)
    assert outcome.estimate is not None
    np.testing.assert_array_equal(outcome.estimate.native, np.pad(marks, ((1, 0), (1, 0))))


def test_a_weighted_matrix_is_cut(collider):
    weights = np.array([[0, -0.9, 0.2], [0, 0, 0], [0, 0.31, 0]])
    estimate = fit(returning(weights), collider, KEY).estimate
    assert estimate is not None and estimate.scores is not None
    np.testing.assert_array_equal(estimate.adjacency, collider.truth)
    np.testing.assert_array_equal(estimate.scores, np.abs(weights))
    strict = FunctionMethod(lambda table: weights, "strict", threshold=0.5)
    assert fit(strict, collider, KEY).estimate.adjacency.sum() == 1


@pytest.mark.parametrize("matrix", [np.zeros((3, 3)), np.zeros((3, 3), np.float32), [[0.0] * 3] * 3, [[-0.0] * 3] * 3])
def test_weights_that_are_all_zero_are_weights(matrix, collider):
    estimate = fit(returning(matrix), collider, KEY).estimate
    assert estimate is not None and not estimate.adjacency.any()
    np.testing.assert_array_equal(estimate.scores, np.zeros((3, 3)))
    assert "remark" not in estimate.info


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.uint8])
def test_whole_numbers_0_and_1_and_truth_values_are_a_graph(dtype, collider):
    for matrix in (np.zeros((3, 3), dtype), collider.truth.astype(dtype)):
        estimate = fit(as_method(lambda table, matrix=matrix: matrix), collider, KEY).estimate
        assert estimate is not None and estimate.scores is None
        np.testing.assert_array_equal(estimate.adjacency, matrix)
    if dtype is not bool:
        assert fit(returning(collider.truth.astype(dtype) * 2), collider, KEY).estimate.scores.max() == 2


def test_weights_below_the_threshold_are_remarked(collider):
    estimate = fit(returning(collider.truth * -0.2), collider, KEY).estimate
    assert estimate is not None and not estimate.adjacency.any() and estimate.scores.max() == 0.2
    assert estimate.info["remark"] == "no weight is above the threshold 0.3; the largest is 0.2"
    assert "remark" not in fit(returning(collider.truth * -0.4), collider, KEY).estimate.info


class Odd:
    """No array, and says so."""

    def __array__(self, *_, **__):
        raise RuntimeError("detach first")


@pytest.mark.parametrize(
    "answer, returned, more",
    [
        (None, "None", ""),
        (Estimate(np.zeros((3, 3))), "Estimate", "; a class derived from Method may return an Estimate"),
        (types.SimpleNamespace(), "SimpleNamespace", ""),
        ({"x": 1}, "dict", ""),
        ("graph", "str", ""),
        (np.full((3, 3), "a"), "ndarray", "; its entries are <U1"),
        ([[1, 2], [3]], "list", " (ValueError: setting an array element with a sequence."),
        (Odd(), "Odd", " (RuntimeError: detach first)"),
    ],
)
def test_what_is_no_matrix_is_said(answer, returned, more, collider):
    outcome = fit(as_method(lambda table: answer), collider, KEY)
    assert outcome.status is Status.invalid and set(outcome.seconds) == {"load", "fit"}
    wrong = f"the function returned {returned}, expected numbers in a [3, 3] matrix, entry [i, j] for i -> j"
    assert outcome.reason.startswith(wrong + more)


def test_a_data_frame_is_its_values(collider):
    names = list(collider.names)
    for labels in ({}, {"columns": names}, {"index": names, "columns": names}, {"index": range(3)}):
        estimate = fit(as_method(lambda table, k=labels: pd.DataFrame(collider.truth, **k)), collider, KEY).estimate
        assert estimate is not None
        np.testing.assert_array_equal(estimate.adjacency, collider.truth)


@pytest.mark.parametrize("axis", ["index", "columns"])
@pytest.mark.parametrize("labels", [["right", "effect", "left"], [1, 2, 3], list("abc")])
def test_a_data_frame_with_other_labels_is_refused(axis, labels, collider):
    outcome = fit(as_method(lambda table: pd.DataFrame(collider.truth, **{axis: labels})), collider, KEY)
    shown = ", ".join(map(str, labels))
    assert outcome.status is Status.invalid
    assert f"DataFrame whose {axis} is {shown}; the variables are left, effect, right, in this order" in outcome.reason


def test_an_exception_is_a_failure(collider):
    outcome = fit(raising(RuntimeError("no\n convergence")), collider, KEY)
    assert outcome.status is Status.failed and outcome.reason == "RuntimeError: no convergence"
    assert "in method" in outcome.detail
    assert fit(raising(SystemExit(3)), collider, KEY).status is Status.failed


def test_memory_error_is_named(collider):
    outcome = fit(raising(MemoryError()), collider, KEY)
    assert outcome.status is Status.failed and outcome.reason.startswith("out of memory")


def test_a_method_may_refuse(collider):
    outcome = fit(raising(MethodError("only for counts")), collider, KEY)
    assert outcome.status is Status.unsupported and outcome.reason == "only for counts"


def test_split_and_size_are_checked(intervened_pair, collider):
    outcome = fit(returning(np.zeros((2, 2))), intervened_pair, KEY)
    assert outcome.status is Status.unsupported and "takes obs tables, this one is obs_int" in outcome.reason
    small = Declared(Capabilities(max_d=2))
    assert "at most 2 variables, this table has 3" in fit(small, collider, KEY).reason


def test_missing_packages_come_with_the_command(collider):
    needy = Declared(Capabilities(packages=("no_such_library.part",), install="pip install no-such-library"))
    outcome = fit(needy, collider, KEY)
    assert outcome.status is Status.unsupported
    assert outcome.reason == "no_such_library not installed; run: pip install no-such-library"


def test_a_package_that_cannot_be_imported_is_missing(collider, tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(tmp_path)
    outcome = fit(Declared(Capabilities(packages=("half_installed",), install="pip install x")), collider, KEY)
    assert outcome.status is Status.unsupported
    assert "No module named 'no_such_library'; run: pip install x" in outcome.reason


def test_too_few_columns_are_said(collider):
    still = Dataset(("a", "b", "c"), np.stack([np.arange(9.0), np.ones(9), np.ones(9)], 1))
    outcome = fit(returning(np.zeros((1, 1))), still, KEY)
    assert outcome.status is Status.unsupported
    assert outcome.reason == "1 of 3 columns can be used (constant: b, c); at least 2 are needed"
    copies = Dataset(("a", "b", "c"), np.stack([np.arange(9.0), np.ones(9), -np.arange(9.0)], 1))
    apart = Declared(Capabilities(distinct_columns=True), Estimate(np.zeros((1, 1))))
    reason = fit(apart, copies, KEY).reason
    assert reason == "1 of 3 columns can be used (constant: b; copies: c); at least 2 are needed"


def test_the_answer_is_mapped_back():
    columns = [np.arange(9.0), np.ones(9), np.arange(9.0) ** 2]
    dataset = Dataset(("a", "still", "b"), np.stack(columns, 1))
    estimate = fit(returning([[0, 0.9], [0, 0]]), dataset, KEY).estimate
    assert estimate is not None
    np.testing.assert_array_equal(estimate.adjacency, [[0, 0, 1], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(estimate.scores, [[0, 0, 0.9], [0, 0, 0], [0, 0, 0]])


VANDALS = {
    "assignment": lambda table: table.__setitem__(slice(None), 0),
    "in place": lambda table: np.subtract(table, 1, out=table),
    "sort": lambda table: table.sort(),
    "fill": lambda table: table.fill(0),
    "shuffle": lambda table: np.random.default_rng(0).shuffle(table),
    "buffer": lambda table: memoryview(table).__setitem__((0, 0), 1.0),
    "view": lambda table: table.T[0].__setitem__(0, 1),
}


@pytest.mark.parametrize("vandal", VANDALS.values(), ids=VANDALS)
def test_writing_into_the_table_fails_and_changes_nothing(vandal, collider):
    before = collider.values.copy()
    outcome = fit(as_method(lambda table: vandal(table)), collider, KEY)
    assert outcome.status is Status.failed
    assert outcome.reason.endswith("; the table is read-only, so work on a copy of it: table.copy()")
    np.testing.assert_array_equal(collider.values, before)


def test_other_errors_come_without_that_advice(collider):
    for error in (ValueError("3 is too few"), OSError(30, "Read-only file system")):
        assert "copy" not in fit(raising(error), collider, KEY).reason


def test_global_generators_follow_the_key_and_are_put_back():
    def draws(seed):
        with seeded(jax.random.key(seed)):
            return random.random(), np.random.rand()

    np.random.seed(1)
    expected = random.getstate(), np.random.rand()
    np.random.seed(1)
    first = draws(0)
    assert (random.getstate(), np.random.rand()) == expected
    assert draws(0) == first != draws(1)


def test_global_generators_are_put_back_after_loading(collider):
    @dataclasses.dataclass(frozen=True)
    class Drawing(Declared):
        def prepare(self):
            np.random.seed(1)

    np.random.seed(5)
    before = np.random.get_state()[1].tolist()
    assert fit(Drawing(answer=Estimate(np.zeros((3, 3)))), collider, KEY).status is Status.completed
    assert np.random.get_state()[1].tolist() == before
    state = random.getstate()  # by itself, since checking types draws from this one
    with preserved():
        random.seed(1)
    assert random.getstate() == state


def test_a_fit_is_seeded(collider):
    def draw(table):
        return np.full((3, 3), np.random.rand()) * (1 - np.eye(3))

    scores = [fit(as_method(draw), collider, jax.random.key(seed)).estimate.scores for seed in (0, 0, 1)]
    assert scores[0][0, 1] == scores[1][0, 1] != scores[2][0, 1]


def test_torch_is_seeded_and_put_back(monkeypatch):
    calls = []
    torch = types.SimpleNamespace(
        float32="float32",
        get_default_dtype=lambda: "float64",
        set_default_dtype=lambda dtype: calls.append(dtype),
        get_rng_state=lambda: "state",
        set_rng_state=lambda state: calls.append(state),
        manual_seed=lambda seed: calls.append("seeded"),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    with seeded(KEY):
        assert calls == ["float32", "seeded"]
    assert calls[2:] == ["float64", "state"]


def test_info_is_json(collider):
    info = {"a": np.float32(0.5), "b": np.arange(2), "c": float("nan"), "d": {"e": object}, ("f",): 1}
    estimate = fit(Declared(answer=Estimate(np.zeros((3, 3)), info=info)), collider, KEY).estimate
    assert estimate is not None
    assert estimate.info["a"] == 0.5 and estimate.info["b"] == [0, 1] and estimate.info["c"] is None
    json.dumps(estimate.info, allow_nan=False)


def test_an_outcome_cannot_contradict_itself():
    with pytest.raises(ValueError, match="without an estimate"):
        Outcome(Status.completed)
    with pytest.raises(ValueError, match="with an estimate"):
        Outcome(Status.failed, "x", Estimate(np.zeros((2, 2))))


def test_the_smallest_number_of_a_type_has_a_size(collider):
    outcome = fit(as_method(lambda table: np.triu(np.full((3, 3), -128, np.int8), 1)), collider, KEY)
    assert outcome.estimate is not None and outcome.estimate.adjacency.sum() == 3


def test_masked_entries_are_no_answer(collider):
    outcome = fit(as_method(lambda table: np.ma.masked_less(np.eye(3)[::-1] - 1, 0)), collider, KEY)
    assert outcome.status is Status.invalid and "some of its entries are masked" in outcome.reason


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("name", ["cdis", "gies", "empty"])
def test_tables_of_hardly_any_row_are_refused(name, rows, collider):
    dataset = Dataset(collider.names, collider.values[:rows])
    outcome = fit(as_method(name), dataset, KEY)
    assert outcome.status is Status.unsupported and f"this table has {rows} rows" in outcome.reason
