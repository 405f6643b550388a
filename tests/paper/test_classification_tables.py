"""The classification tables: protocol, search, runs, shipped records, the command line."""

import json
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from paralesn import datasets
from paralesn.cli import app
from paralesn.paper import (
    bayesian,
    catalogue,
    configurations,
    energy,
    proposals,
    protocol,
    protocols,
    reproduce,
    results,
    runs,
    scope,
    selection,
    spaces,
)
from paralesn.paper.configurations import Tuned
from paralesn.paper.protocols import classification as classify
from paralesn.paper.protocols import mnist
from paralesn.paper.results import Row
from paralesn.paper.search import Budget
from paralesn.paper.table import as_latex, as_rich
from paralesn.readouts.normal_equations import cholesky_predictions
from paralesn.readouts.ridge import Ridge

ARCHIVES, DIGITS = protocols.of_kind("classification"), protocols.of_kind("mnist")
BOTH = [*ARCHIVES.tasks(), *DIGITS.tasks()]
LAYER = {"rho": [0.5, 0.95], "mix_scale": 0.5, "bias_scale": 0.1}
CHOSEN = Tuned("forda", "ParalESN", "extended", LAYER, 1.0, 0.9, 5, 1.0, 3)
DENSE = Tuned("forda", "ESN", "paper", {"rho": 0.9}, 1.0, 0.8, 5, 1.0, 3)


def _tones(rng, periods, cases, classes):
    """Noisy tones, one period for each class."""
    y = np.arange(cases) % classes
    t = np.arange(40)
    x = np.sin(t / np.array(periods)[y][:, None] + rng.uniform(0, 1, (cases, 1)))
    return (x + 0.1 * rng.normal(size=x.shape))[:, :, None].astype("float32"), y


@pytest.fixture
def small(monkeypatch, rng):
    """Two classes for the archive, three for MNIST, and reservoirs of 24 units."""
    made = {}
    for kind, periods in (("classification", (2.0, 4.0)), ("mnist", (1.5, 3.0, 6.0))):
        train, test = (_tones(rng, periods, n, len(periods)) for n in (150, 90))
        made[kind] = classify.Cases(*train, *test, len(periods))
    few = {name: replace(task, units=24) for name, task in catalogue.tasks().items()}
    for module in (classify, mnist):
        monkeypatch.setattr(module, "tasks", lambda: few)
        monkeypatch.setattr(
            module, "tasks_of", lambda group: {n: t for n, t in few.items() if t.group == group}
        )
        monkeypatch.setattr(module, "data", lambda task: made[few[task].group])
    monkeypatch.setattr(datasets, "fetch", lambda task: [])
    return made


# -- what is data ----------------------------------------------------------------------------------


def test_the_catalogue_is_the_papers():
    names = "blink faultdetectiona forda fordb starlightcurves smnist psmnist"
    assert " ".join(BOTH) == names
    deep = catalogue.published("forda", "ParalESN (deep)")
    assert (deep.mean, deep.std) == (pytest.approx(0.928), pytest.approx(0.005))
    assert catalogue.published("psmnist", "Transformer").mean == pytest.approx(0.974)
    assert catalogue.published("forda", "SCR") is None
    for name in BOTH:
        task = catalogue.tasks()[name]
        assert (task.better, task.units) == ("higher", 1024)
        assert all(catalogue.published(name, model) for model in catalogue.MAIN)
    assert mnist.paper_cost("smnist", "LRU", "minutes") == (29.1, 1.85)
    assert mnist.paper_cost("psmnist", "ParalESN (deep)", "energy") == (0.05, 0.0)
    assert "50 of the 450" in catalogue.tasks()["blink"].note


def test_names_stand_for_groups_and_regression_is_the_default():
    def tasks_of(*names):
        wanted = scope.resolve(names, None)
        return list(dict.fromkeys(one.task for one in wanted if one.protocol.in_paper))

    assert tasks_of() == list(protocols.of_kind("regression").tasks())
    assert tasks_of("classification") == BOTH
    assert tasks_of("mnist", "Blink") == ["blink", "smnist", "psmnist"]
    assert tasks_of("archives") == list(ARCHIVES.tasks())
    assert tasks_of("all") == [name for name, task in catalogue.tasks().items() if not task.like]
    beside = {one.protocol.name for one in scope.resolve(None) if not one.protocol.in_paper}
    assert beside == {"long-term"}


def test_starts_are_configurations_of_their_space():
    optuna = pytest.importorskip("optuna")
    for place, by_model in catalogue.read("classification.toml")["starts"].items():
        group = {place} | {t.name for t in catalogue.tasks().values() if t.group == place}
        task = next(iter(group & set(catalogue.tasks())))
        for model, by_space in by_model.items():
            for space, given in by_space.items():
                begun = proposals.starts(
                    task, model, space, proposals.given(task, model, space), []
                )
                assert len(begun) == len(given)
                for one, told in zip(given, begun, strict=True):
                    fixed = optuna.trial.FixedTrial(told)
                    found = spaces.suggest(fixed, catalogue.models()[model], space)
                    above, later = found.pop("inter", {}), one.get("inter", {})
                    for kept, asked in ((found, one), (above, later)):
                        for name in asked.keys() - {"inter"}:
                            assert kept[name] == pytest.approx(asked[name]), (place, model, name)


# -- the protocol ----------------------------------------------------------------------------------


def test_archives_lose_their_means_and_are_scaled_by_the_training_set(monkeypatch, rng):
    train, test = rng.normal(3, [1, 50], (20, 7, 2)), rng.normal(3, [1, 50], (10, 7, 2))
    y_train, y_test = np.array(["b", "a"] * 10), np.array(["a", "b"] * 5)
    labels = np.array(["a", "b"])
    made = datasets.ClassificationDataset("any", train, y_train, test, y_test, labels)
    monkeypatch.setattr(datasets, "load", lambda name: made)
    classify.data.cache_clear()
    found = classify.data("forda")
    classify.data.cache_clear()
    np.testing.assert_allclose(found.train.mean(axis=1), 0, atol=1e-6)
    np.testing.assert_allclose(found.train.std(axis=(0, 1)), 1, rtol=1e-6)
    spread = np.sqrt(((train - train.mean(axis=1, keepdims=True)) ** 2).mean(axis=(0, 1)))
    for case, scaled in zip(test, found.test, strict=True):
        np.testing.assert_allclose(scaled, (case - case.mean(0)) / spread, rtol=1e-4, atol=1e-5)
    assert found.y_train[:2].tolist() == [1, 0]
    assert found.train.dtype == np.float32


def test_parts_are_stratified_disjoint_and_no_more_than_asked_for(rng):
    y = rng.integers(0, 3, 1000)
    kept, held = classify.split(y, None, 0.3, seed=1)
    assert (kept.size, held.size) == (700, 300)
    kept, held = classify.split(y, 100, 0.3, seed=1)
    assert (kept.size, held.size) == (70, 30)
    assert not set(kept) & set(held)
    for k in range(3):
        assert (y[held] == k).mean() == pytest.approx((y == k).mean(), abs=0.05)


def test_quick_ridge_is_ridge(rng):
    Z, held = rng.normal(2, 3, (80, 6)), rng.normal(2, 3, (30, 6))
    Z[:, 5] = held[:, 5] = 4.0  # without variance
    y = np.where(rng.normal(size=(80, 2)) > 0, 1.0, -1.0)
    quick = list(cholesky_predictions(Z, y, held, (0.1, 10.0)))
    exact = Ridge((0.1, 10.0)).fit(Z, y).predict_each(held)
    np.testing.assert_allclose(quick, exact, rtol=1e-8, atol=1e-10)
    (unsolved,) = cholesky_predictions(Z, y, held, (0.0,))
    assert np.isnan(unsolved).all()


def test_validation_holds_out_the_papers_part(small):
    model = catalogue.models()["ParalESN"]
    reservoir = classify.build(model, LAYER, 3, "forda")
    found = ARCHIVES.validate("forda", model.name, LAYER, (0.1, 10.0), 3)
    cases = small["classification"]
    kept, held = datasets.stratified_split(cases.y_train, 0.3, 3)
    targets = np.where(cases.y_train == 1, 1.0, -1.0)
    exact = Ridge((0.1, 10.0)).fit(reservoir.last(cases.train[kept]), targets[kept])
    for score, predicted in zip(
        found, exact.predict_each(reservoir.last(cases.train[held])), strict=True
    ):
        right = ((predicted[:, 0] > 0) == (cases.y_train[held] == 1)).mean()
        assert score == pytest.approx(right, abs=1e-5)
    assert found.max() > 0.9


def test_a_run_trains_on_everything_and_says_what_it_cost(small):
    (run,) = runs.plan(ARCHIVES, CHOSEN, 1, country="FRA")
    assert (run["kind"], run["units"], run["country"]) == ("classification", 24, "FRA")
    found = ARCHIVES.measure(run, None)
    cases = small["classification"]
    reservoir = classify.build(catalogue.models()["ParalESN"], LAYER, 0, "forda")
    readout = Ridge([1.0]).fit(reservoir.last(cases.train), np.where(cases.y_train == 1, 1.0, -1.0))
    right = ((readout.predict(reservoir.last(cases.test)) > 0) == (cases.y_test == 1)).mean()
    assert found["metrics"] == {"accuracy": pytest.approx(right)}
    assert right > 0.9
    assert found["parameters"] == 48  # eigenvalues and input weights
    assert found["trained"] == 25
    timing = found["timing"]
    assert found["seconds"] == pytest.approx(timing["features"] + timing["training"])
    assert timing["total"] == pytest.approx(found["seconds"] + timing["test"])


def test_mnist_is_read_out_by_a_perceptron(small):
    pytest.importorskip("torch")
    configuration = Tuned("psmnist", "ParalESN", "extended", LAYER, 1.0, 0.9, 5, 1.0, 1)
    (run,) = runs.plan(DIGITS, configuration, 1)
    model = catalogue.models()["ParalESN"]
    assert run["readout"]["dropout"] == 0.2
    assert run["alpha"] is None
    assert "dropout" not in mnist.settings(model, "paper")
    run["readout"] |= {"learning_rate": 1e-2}
    found = DIGITS.measure(run, None)
    assert found["metrics"]["accuracy"] > 0.8
    assert found["trained"] == 24 * 150 + 150 + 150 * 3 + 3
    assert found["permutation_seed"] == mnist.PERMUTATION
    score = DIGITS.validate("psmnist", model.name, LAYER, (0.1, 1.0), 0, final=True)
    assert score.shape == (2,)
    assert score[0] == score[1] > 0.5


@pytest.mark.parametrize("task", ["forda", "smnist"])
@pytest.mark.parametrize("final", [False, True])
def test_every_model_is_judged_alike(task, final, small, monkeypatch):
    pytest.importorskip("torch")
    units, cases = [], []
    build, split = classify.regression.build, classify.split

    def built(*arguments, **sizes):
        units.append(sizes["units"])
        return build(*arguments, **sizes)

    def divided(y, most, *rest):
        cases.append(most)
        return split(y, most, *rest)

    monkeypatch.setattr(classify.regression, "build", built)
    monkeypatch.setattr(classify, "split", divided)
    for name in ("ESN", "ESN (deep)", "ParalESN", "ParalESN (deep)"):
        layers = {"layers": 2} if name.endswith("(deep)") else {}
        protocols.of(task, name).validate(task, name, layers, (0.1,), 0, final=final)
    wanted = classify.effort(task, final)
    assert units == [wanted.units or 24] * 4  # 24 are those of runs here
    assert cases == [wanted.cases] * 4
    assert (wanted.units is None) == final


def test_the_pooled_model_reads_statistics_over_time(small):
    pytest.importorskip("torch")
    model = catalogue.models()["ParalESN (pooled)"]
    everywhere = {one.task for one in scope.resolve(["all"], [model.name])}
    assert everywhere == {"smnist", "smnist14"}
    configuration = Tuned("smnist", model.name, "extended", LAYER, 1.0, 0.9, 5, 1.0, 1)
    (run,) = runs.plan(DIGITS, configuration, 1)
    assert (run["units"], run["pool"], run["segments"]) == (160, ["last", "mean", "std"], 7)
    run["readout"] |= {"learning_rate": 1e-2, "epochs": 10}
    found = DIGITS.measure(run, None)
    statistics = 160 * 3 * 7
    assert found["trained"] == statistics * 47 + 47 + 47 * 3 + 3
    assert found["metrics"]["accuracy"] > 0.8
    reservoir = classify.build(model, LAYER, 0, "smnist")
    X = small["mnist"].test
    np.testing.assert_array_equal(
        classify.features(model, reservoir, X), reservoir.pool(X, ("last", "mean", "std"), 7)
    )


def test_search_maximises_validation_accuracy(small, tmp_path):
    pytest.importorskip("optuna")
    bayesian.work("forda", "ParalESN", "extended", str(tmp_path), Budget(4))
    found = bayesian.tuned("forda", "ParalESN", "extended", str(tmp_path))
    assert found.trials == 4
    assert 0.5 < found.validation <= 1
    study = bayesian.open_study("forda", "ParalESN", "extended", str(tmp_path))
    best = [trial.value for trial in study.trials if trial.value is not None]
    assert min(best) < -0.5  # a loss
    configurations.write(tmp_path / "found.toml", [found])
    assert "[forda.ParalESN.extended]" in (tmp_path / "found.toml").read_text()


# -- energy ----------------------------------------------------------------------------------------


def test_energy_is_measured_where_it_can_be():
    with energy.measured("FRA") as spent:
        sum(range(100_000))
    try:
        import codecarbon  # noqa: F401
    except ModuleNotFoundError:
        assert spent == {}
        return
    assert spent["kwh"] >= 0
    assert spent["kg"] >= 0
    assert spent["country"] == "FRA"


@pytest.mark.parametrize("wrong", ["Italy", "I", "12A", ""])
def test_countries_have_three_letters(wrong):
    assert energy.checked_country("fra") == "FRA"
    with pytest.raises(ValueError, match="country must be a code of three letters"):
        energy.checked_country(wrong)


# -- tables and the command line -------------------------------------------------------------------


def _record(task, model, value, seed, **more):
    return {
        "kind": catalogue.tasks()[task].group, "task": task, "model": model, "seed": seed,
        "metric": "accuracy", "space": "extended",
        "metrics": {"accuracy": value}, "seconds": 60.0, "parameters": 2048, "trained": 155260,
        "timing": {"features": 10.0, "training": 50.0, "test": 30.0, "total": 90.0 + 60 * seed},
        "energy": {"kwh": 0.01, "kg": 0.003, "estimate": True}, **more,
    }  # fmt: skip


def test_cells_and_costs_by_hand():
    runs_of_rows = [
        (Row("ParalESN"), _record("smnist", "ParalESN", v, s)) for s, v in enumerate((0.97, 0.98))
    ]
    runs_of_rows += [(Row("ESN"), _record("blink", "ESN", 0.6, 0, shipped=True))]
    cells = selection.cells(runs_of_rows)
    cell = cells["smnist", Row("ParalESN")]
    assert (cell.mean, cell.std) == (pytest.approx(0.975), pytest.approx(0.005))
    assert cell.verdict == "win"
    assert cell.costs["total seconds"] == (pytest.approx(120.0), pytest.approx(30.0))
    assert cell.costs["trained"] == (155260.0, 0.0)
    assert cells["blink", Row("ESN")].shipped
    assert cells["blink", Row("ESN")].verdict == "loss"
    by_name = {(row["task"], row["model"]): row for row in results.as_data(cells.values())}
    assert by_name["blink", "ESN"]["shipped"]
    assert by_name["smnist", "ParalESN"]["costs"]["kwh"] == pytest.approx(0.01)
    assert by_name["smnist", "ParalESN"]["energy_is_estimate"]
    said = " ".join([*results.notes(cells.values()), *results.shipped_notes(cells.values())])
    assert "50 of the 450 test cases" in said
    assert "come with the package" in said
    assert "Seeds: ESN on Blink 1." in said
    shown = as_rich(results.times(cells, catalogue.MAIN))
    names = [column.header for column in shown.columns]
    assert names == ["task", "ESN", "ParalESN"]  # nothing of models without a run
    assert "estimates" in said


def test_the_table_of_mnist_holds_ours_and_the_papers():
    runs_of_row = [(Row("ParalESN"), _record("smnist", "ParalESN", 0.98, seed)) for seed in (0, 1)]
    cells = selection.cells(runs_of_row)
    (table,) = DIGITS.tables(cells)  # none of psmnist
    columns = [[str(text) for text in column.cells] for column in as_rich(table).columns]
    assert columns[0] == [*mnist.TRAINED, *catalogue.MAIN]
    ours = columns[0].index("ParalESN")
    assert columns[1][ours] == "155.3k\n(≈160k)"
    assert columns[2][ours] == "98.00 ±0.00\n(96.2) +2% ✓"
    assert columns[3][ours] == "2 ±0.5\n(2.7 ±0.7)"
    assert columns[2][0] == "(97.5 ±1.4)"
    latex = as_latex(table)
    assert r"ParalESN & 155.3k & $98.00_{\pm 0.00}$ & $2.0000_{\pm 0.5000}$" in latex
    assert r"LSTM$^\dagger$ & $\approx 160$k & $97.5_{\pm 1.4}$" in latex


@pytest.fixture
def configured(small, monkeypatch):
    """A chosen configuration of ParalESN and of ESN, the latter with a record in the package."""
    known = {"ParalESN": CHOSEN, "ESN": DENSE}
    monkeypatch.setattr(
        selection, "configurations",
        lambda protocol, task, model, *_: {Row(model): known[model]} if model in known else {},
    )  # fmt: skip
    (run,) = runs.plan(ARCHIVES, DENSE, 1)
    shipped = run | _record("forda", "ESN", 0.7, 0, space="paper", shipped=True)
    monkeypatch.setattr(reproduce, "of_slow_models", lambda: {runs.identity(run): shipped})
    return shipped


def test_slow_rows_come_from_the_package_unless_they_are_asked_for(configured, tmp_path):
    both = ["ESN", "ParalESN"]
    quick = reproduce.reproduce(["forda"], both, tmp_path / "quick", seeds=2, slow=False)
    cell = quick.cells["forda", Row("ESN")]
    assert (cell.shipped, cell.seeds, cell.mean) == (True, 1, pytest.approx(0.7))
    assert quick.cells["forda", Row("ParalESN")].seeds == 2
    everything = reproduce.reproduce(["forda"], both, tmp_path / "all", seeds=2)
    assert not everything.cells["forda", Row("ESN")].shipped
    assert everything.cells["forda", Row("ESN")].seeds == 2
    again = reproduce.reproduce(["forda"], both, tmp_path / "all", seeds=2, slow=False)
    assert (
        again.cells["forda", Row("ESN")] == everything.cells["forda", Row("ESN")]
    )  # one's own come first


def test_what_has_no_record_or_no_row_is_said_or_left(configured, tmp_path, monkeypatch):
    monkeypatch.setattr(reproduce, "of_slow_models", dict)
    found = reproduce.reproduce(["forda"], ["ESN", "SCR", "ParalESN (deep)"], tmp_path, slow=False)
    assert found.cells == {}
    lacking = {absent.key: absent.lacks for absent in found.absent}
    assert lacking == {"forda, ESN": "record", "forda, ParalESN (deep)": "configuration"}
    call = ["reproduce", "forda", "--seeds", "1", "--jobs", "1", "--out", str(tmp_path)]
    said = " ".join(CliRunner().invoke(app, call).output.split())
    assert "--models 'ESN' runs it" in said
    assert "`paralesn search forda` finds one" in said


def test_reproduce_from_the_command_line(configured, tmp_path, monkeypatch):
    call = ["reproduce", "--tasks", "forda", "--seeds", "2", "--jobs", "1", "--out"]
    done = CliRunner().invoke(app, [*call, str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {row["model"]: row["seeds"] for row in rows} == {"ESN": 1, "ParalESN": 2}
    assert {"task", "model", "metric", "mean", "std", "seeds", "paper", "space"} <= set(rows[0])
    assert "70.00*" in done.output  # of one seed, which has no deviation
    assert "FordA" in (tmp_path / "out" / "tables.tex").read_text()
    monkeypatch.setattr(runs, "carry_out", lambda *_: pytest.fail("run again"))
    again = CliRunner().invoke(app, [*call, str(tmp_path / "out")])
    assert again.exit_code == 0, again.output


def test_an_absent_file_is_left_out_and_no_error(tmp_path, monkeypatch):
    def missing(name):
        raise datasets.MissingFileError(f"{name} is missing")

    monkeypatch.setattr(datasets, "fetch", missing)
    call = ["reproduce", "faultdetectiona", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 0, done.output
    assert "Left out: FaultDetectionA: faultdetectiona is missing" in done.output


def test_mnist_without_pytorch_is_left_out(small, monkeypatch):
    assert ARCHIVES.missing("blink") is None
    monkeypatch.setattr(protocol, "find_spec", lambda name: None)
    assert "paralesn[torch]" in DIGITS.missing("smnist")
    assert ARCHIVES.missing("blink") is None


def test_a_wrong_country_is_refused(tmp_path):
    call = ["reproduce", "blink", "--country", "Italy", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, call)
    assert done.exit_code == 2
    assert "three letters" in " ".join(done.output.split())
