"""MLP as its users meet it: tasks, mistakes, interruptions, what is learnt and saved."""

import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from paralesn.readouts import mlp_network
from paralesn.readouts.mlp import MLP

torch = pytest.importorskip("torch")


def quick(**options):
    return MLP(**{"hidden": 16, "learning_rate": 5e-3, "batch_size": 32, "epochs": 5} | options)


def test_what_task_means():
    assert is_classifier(MLP(task="classification"))
    assert is_regressor(MLP(task="regression"))
    assert not is_classifier(MLP())
    assert not is_regressor(MLP())
    X = np.random.default_rng(0).normal(size=(60, 2))
    whole = (X[:, 0] > 0).astype(int)
    assert hasattr(quick().fit(X, whole), "predict_proba")
    assert not hasattr(quick().fit(X, whole.astype(float)), "predict_proba")
    assert not hasattr(quick(task="regression"), "predict_proba")
    assert hasattr(quick(task="classification"), "predict_proba")
    model = quick(task="regression").fit(X, whole)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "classes_")
    weight = np.linspace(0, 1, 60)
    expected = r2_score(whole, model.predict(X), sample_weight=weight)
    assert model.score(X, whole, sample_weight=weight) == pytest.approx(expected)
    model.set_params(task="classification").fit(X, whole)
    assert not hasattr(model, "target_mean_")
    expected = accuracy_score(whole, model.predict(X), sample_weight=weight)
    assert model.score(X, whole, sample_weight=weight) == pytest.approx(expected)


def test_booleans_and_lists_are_labels(blobs):
    X, y = blobs
    model = quick(epochs=20).fit(X, (y == 1).tolist())
    assert model.predict(X).dtype == bool
    nullable = quick().fit(X, pd.Series(y, dtype="Int64"))
    assert nullable.classes_.tolist() == [0, 1, 2]
    assert nullable.classes_.dtype == np.int64
    assert model.score(X, y == 1) > 0.8


# -- mistakes --------------------------------------------------------------------------------------

X_OK = np.random.default_rng(1).normal(size=(40, 2))
Y_OK = np.arange(40) % 2
NAN = np.where(np.arange(40) == 3, np.nan, 1.0)


@pytest.mark.parametrize(
    ("X", "y", "more", "message"),
    [
        (X_OK, Y_OK[:39], {}, r"y must be \(40,\), as many rows as X \(40\), got shape \(39,\)"),
        (X_OK, np.ones((40, 2), int), {}, r"y must be \(40,\), .* got shape \(40, 2\)"),
        (X_OK, np.ones((40, 2, 2)), {}, r"y must be \(40,\) or \(40, targets\), .* \(40, 2, 2\)"),
        (X_OK, None, {}, "requires y to be passed"),
        (X_OK, Y_OK * 0, {}, "y must hold at least two classes, got only 1 class"),
        (X_OK, NAN, {}, "Input y contains NaN"),
        (X_OK, np.array(["a", 1], object)[Y_OK], {}, "y must hold labels of one type: "),
        (X_OK, Y_OK + 1j, {}, "Complex data not supported"),
        (X_OK * NAN[:, None], Y_OK, {}, "Input X contains NaN"),
        (X_OK + np.inf, Y_OK, {}, "Input X contains infinity"),
        (X_OK[:, 0], Y_OK, {}, "Expected 2D array"),
        (X_OK * 1e200, Y_OK, {}, "X must have a finite variance, got overflow in column 0"),
        (X_OK, X_OK * [1, 1e200], {}, "y must have a finite variance, got overflow in column 1"),
        (X_OK, Y_OK, {"sample_weight": np.ones(39)}, "sample_weight.shape"),
        (X_OK, Y_OK, {"sample_weight": -np.ones(40)}, "Negative values"),
        (X_OK, Y_OK, {"sample_weight": NAN}, "sample_weight contains NaN"),
        (X_OK, Y_OK, {"sample_weight": np.zeros(40)}, "sample_weight|[Ss]ample weights"),
        (X_OK, Y_OK, {"sample_weight": Y_OK}, "y must hold at least two classes"),
        (X_OK, Y_OK, {"validation": X_OK}, r"validation must be None or a pair \(X, y\)"),
        (X_OK, Y_OK, {"validation": (X_OK[:, :1], Y_OK)}, "X has 1 features, but MLP is expecting"),
        (X_OK, Y_OK, {"validation": (X_OK, Y_OK[:5])}, "validation must hold 40 rows of y as of X, got 5"),
        (X_OK, Y_OK, {"validation": (X_OK, Y_OK + 1)}, "validation must hold labels of y, got 2"),
        (X_OK, Y_OK, {"validation": (X_OK, ["a"] * 40)}, "validation must hold labels of y, got 'a'"),
        (X_OK, X_OK, {"validation": (X_OK, X_OK[:, 0])}, "validation must hold 2 targets as y does, got 1"),
        (X_OK, X_OK, {"validation": (X_OK, X_OK[:5])}, "validation must hold 40 rows of y as of X, got 5"),
        (X_OK, X_OK[:, 0], {"validation": (X_OK, NAN)}, "Input validation's y contains NaN"),
    ],
)  # fmt: skip
def test_wrong_data(X, y, more, message):
    model = quick(epochs=1)
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, **more)
    assert vars(model) == vars(quick(epochs=1))


@pytest.mark.parametrize("y", [X_OK[:, 0], X_OK])
def test_numbers_are_no_classes(y):
    with pytest.raises(ValueError, match=r"Unknown label type|y must be \(40,\)"):
        quick(task="classification").fit(X_OK, y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"hidden": 0}, ValueError, "hidden must be a whole number of at least 1, got 0"),
        ({"hidden": 2.0}, TypeError, "hidden must be a whole number of at least 1, got 2.0"),
        ({"batch_size": True}, TypeError, "batch_size must be a whole number"),
        ({"epochs": 0}, ValueError, "epochs must be a whole number of at least 1, got 0"),
        ({"patience": None}, TypeError, "patience must be a whole number"),
        ({"task": "ranking"}, ValueError, "task must be 'classification', 'regression' or None, got 'ranking'"),
        ({"learning_rate": 0}, ValueError, r"learning_rate must be a finite number in \(0, 1e\+30\), got 0"),
        ({"learning_rate": np.inf}, ValueError, "learning_rate must be a finite number in"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate must be a finite number in .*, got 'fast'"),
        ({"weight_decay": -1.0}, ValueError, r"weight_decay must be a finite number in \[0, 1e\+30\), got -1.0"),
        ({"dropout": 1.0}, ValueError, r"dropout must be a finite number in \[0, 1\), got 1.0"),
        ({"input_dropout": 1.0}, ValueError, r"input_dropout must be a finite number in \[0, 1\), got 1.0"),
        ({"label_smoothing": -0.1}, ValueError, "label_smoothing must be a finite number"),
        ({"schedule": "linear"}, ValueError, "schedule must be 'cosine' or None, got 'linear'"),
        ({"dropout": np.nan}, ValueError, "dropout must be a finite number"),
        ({"validation_fraction": 1}, ValueError, r"validation_fraction must be a finite number in \[0, 1\), got 1"),
        ({"seed": -1}, ValueError, "seed must be a whole number of at least 0, None or a numpy.random.Generator, got -1"),
        ({"seed": "x"}, TypeError, "seed must be a whole number"),
        ({"device": 0}, TypeError, "device must be None or a string, got 0"),
        ({"device": "toaster"}, ValueError, "device must be one that PyTorch can use, got 'toaster'"),
        ({"device": "meta"}, ValueError, "device must be one that PyTorch can use, got 'meta'"),
        ({"progress": "yes"}, TypeError, "progress must be True, False or None, got 'yes'"),
        ({"learning_rate": 1e29}, ValueError, "learning_rate must be small enough .* got 1e\\+29"),
    ],
)  # fmt: skip
def test_wrong_parameters(options, error, message):
    with pytest.raises(error, match=message):
        quick(**options).fit(X_OK, Y_OK)


def test_an_interrupted_fit_leaves_everything_as_it_was(blobs, monkeypatch):
    def interrupt(self, share):
        raise KeyboardInterrupt

    X, y = blobs
    fresh, model = quick(), quick().fit(X, y)
    before, threads = model.predict_proba(X), torch.get_num_threads()
    monkeypatch.setattr(mlp_network.Adam, "step", interrupt)
    for readout in (fresh, model):
        with pytest.raises(KeyboardInterrupt):
            readout.fit(X[:, :2], y.astype(float))
    with pytest.raises(NotFittedError):
        fresh.predict(X)
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert torch.get_num_threads() == threads


# -- without PyTorch, in files, on terminals, with scikit-learn ------------------------------------


@pytest.mark.slow
def test_importing_and_predicting_do_without_torch(tmp_path, blobs):
    X, y = blobs
    model = quick().fit(X, y)
    (tmp_path / "model").write_bytes(pickle.dumps((model, X, model.predict_proba(X))))
    code = """if True:
        import pickle, sys, numpy as np, paralesn.readouts.mlp
        assert "torch" not in sys.modules
        sys.modules["torch"] = None
        with open(sys.argv[1], "rb") as file:
            model, X, expected = pickle.load(file)
        assert np.array_equal(model.predict_proba(X), expected)
        try:
            model.fit(X, X)
        except ModuleNotFoundError as error:
            print(error)
    """
    result = subprocess.run(
        [sys.executable, "-c", code, tmp_path / "model"], capture_output=True, text=True, check=True
    )
    assert result.stdout == "MLP needs PyTorch; install it with: pip install 'paralesn[torch]'\n"


def test_missing_torch_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"MLP needs PyTorch; .* pip install 'paralesn\[torch\]'"):
        MLP().fit(X_OK, Y_OK)


def test_the_fitted_state_is_all_that_was_learnt():
    for y in (Y_OK, X_OK, X_OK[:, 0]):
        model = quick().fit(X_OK, y)
        assert vars(model).keys() == {*quick().get_params(), "fitted_"}
        copy = quick()
        copy.fitted_ = model.fitted_
        copy.fitted_.check(copy)
        np.testing.assert_array_equal(copy.predict(X_OK), model.predict(X_OK))


@pytest.mark.parametrize("y", [Y_OK, X_OK])
def test_fitted_states_that_do_not_fit_together_are_refused(y):
    model = quick().fit(X_OK, y)
    w1, b1, w2, b2 = model.weights_
    wrong = [
        {"weights": (w1, b1, w2)},
        {"weights": (w1[:1], b1, w2, b2)},
        {"weights": (w1, b1[:, None], w2, b2)},
        {"weights": (w1, b1, w2[:, :1], b2[:1])},
        {"weights": (w1.astype(float), b1, w2, b2)},
        {"weights": (w1 * np.float32(np.nan), b1, w2, b2)},
        {"weights": 3},
        {"mean": model.mean_[:1]},
        {"scale": model.scale_.tolist()},
        {"feature_names": np.array(["a", "b", "c"], object)},
        {"loss_curve": ()},
        {"loss_curve": ("0.1",) * 5},
        {"validation_curve": (0.5,)},
        {"best_epoch": 9},
        {"best_epoch": 2.0},
    ]
    if y is Y_OK:
        wrong += [{"classes": np.array([1])}, {"classes": np.array([[0, 1]])}]
    else:
        wrong += [{"flat": True}, {"flat": 0}, {"target_mean": np.ones(3)}, {"target_scale": 1}]
    for change in wrong:
        with pytest.raises((ValueError, TypeError)):
            replace(model.fitted_, **change).check(model)
    with pytest.raises(ValueError, match="do not fit together"):
        model.fitted_.check(quick(hidden=17))


def test_progress_is_shown_when_asked_for(capsys, monkeypatch):
    quick().fit(X_OK, Y_OK)
    assert capsys.readouterr() == ("", "")
    quick(progress=True).fit(X_OK, Y_OK)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "epoch 5/5" in shown.err
    assert "validation" in shown.err
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    quick(progress=False).fit(X_OK, Y_OK)
    assert capsys.readouterr().err == ""
    quick().fit(X_OK, Y_OK)
    assert "epoch" in capsys.readouterr().err


def test_in_scikit_learns_company(blobs):
    X, y = blobs
    grid = {"mlp__hidden": [4, 16]}
    search = GridSearchCV(
        make_pipeline(StandardScaler(), quick(task="classification", epochs=15)), grid, cv=2
    )
    assert search.fit(X, y).best_score_ > 0.8
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))
