"""The regression tables: catalogue, spaces, evaluation, records, tables, the command line."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

import paralesn as pe
from paralesn import datasets
from paralesn.cli import app
from paralesn.paper import catalogue, configurations, protocols, reproduce, runs, selection
from paralesn.paper.configurations import Tuned
from paralesn.paper.markdown_table import as_markdown
from paralesn.paper.protocols import regression as evaluate
from paralesn.paper.results import Row, as_list, summary
from paralesn.paper.table import as_csv, as_latex, as_rich

optuna = pytest.importorskip("optuna")
from paralesn.paper import spaces  # noqa: E402

REGRESSION = protocols.of_kind("regression")
SMALL = Tuned(
    "sinmem10", "ParalESN", "paper", {"rho": [0.5, 0.9], "mix_scale": 0.1}, 0.01, 0.3, 5, 1.0, 3
)


# -- what is data ----------------------------------------------------------------------------------


def test_the_catalogue_is_the_papers():
    names = """memcap ctxor5 ctxor10 sinmem10 sinmem20 lz25 lz50 mg mg84 narma10 narma30 etth1
    etth2 ettm1 ettm2"""
    assert list(protocols.of_kind("regression").tasks()) == names.split()
    assert catalogue.published("mg", "ESN (deep)") == catalogue.Published(2.0e-4, 0.0)
    assert catalogue.published("memcap", "ParalESN (deep)").mean == 125.0
    assert catalogue.published("memcap", "SCR") is None
    for model, cells in catalogue.read("published.toml").items():
        assert model in catalogue.models()
        assert set(cells) <= set(catalogue.tasks())
    for task in catalogue.tasks():
        assert datasets.available()  # known there, too
        assert any(entry.name == task for entry in datasets.available())


def test_names_are_found_whatever_their_case():
    assert catalogue.chosen(["paralesn", "esn"], catalogue.models(), "models") == [
        "ESN",
        "ParalESN",
    ]
    with pytest.raises(
        ValueError, match=r"models must be among .* got 'ParlESN'; did you mean ParalESN"
    ):
        catalogue.chosen(["ParlESN"], catalogue.models(), "models")


@pytest.mark.parametrize("space", spaces.SPACES)
@pytest.mark.parametrize(
    "model",
    [model for model in catalogue.models().values() if not model.trained],
    ids=lambda model: model.name,
)
def test_every_configuration_of_a_space_can_be_built(space, model):
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for seed in range(20):
        found = spaces.suggest(study.ask(), model, space)
        assert ("inter" in found) == model.deep
        for place in (found, found.get("inter", {})):
            for name in ("rho", "theta"):
                if isinstance(place.get(name), list):
                    assert place[name][0] <= place[name][1]
        found = json.loads(json.dumps(found))  # plain data
        reservoir = evaluate.build(model, found, seed).fit(np.zeros((2, 1)))
        assert sum(layer.units for layer in reservoir.layers_) >= evaluate.UNITS
        if "real" in model.fixed:
            assert not reservoir.layers_[0].is_complex


def test_the_papers_space_is_the_papers_table():
    space = catalogue.read("spaces.toml")["paper"]
    assert space["alphas"] == [0, 0.01, 0.1, 1, 10, 100]
    assert space["ESN"]["rho"] == [0.1, 0.5, 0.9]
    assert space["ESN"]["input_scale"] == space["StructuredRC"]["scale"] == [0.01, 0.1, 1, 10]
    assert "rho" not in space["SCR"]
    assert space["ParalESN"]["rho"] == {"min": [0, 0.1, 0.5, 0.9], "max": [0.1, 0.5, 0.9]}
    np.testing.assert_allclose(space["ParalESN"]["theta"]["max"], np.array([0.5, 1, 2]) * np.pi)
    np.testing.assert_allclose(space["ParalESN"]["theta"]["min"], np.array([0, 0.5, 1, 2]) * np.pi)
    for name in ("ESN", "SCR", "StructuredRC", "ParalESN", "rParalESN"):
        assert space[name]["tau"] == [0.1, 0.5, 0.9, 1]
        assert space[name]["bias_scale"] == [0, 0.01, 0.1, 1, 10]


def test_configurations_survive_a_toml_file(tmp_path):
    deep = {"rho": [0.0, 0.9], "concat": True, "layers": 3, "inter": {"tau": 0.1, "phases": "even"}}
    found = [SMALL, Tuned("mg", "ParalESN (deep)", "extended", deep, 0.0, 1e-4, 100, 7.5, 9)]
    configurations.write(tmp_path / "tuned.toml", found)
    text = tomllib.loads((tmp_path / "tuned.toml").read_text())
    assert text["mg"]["ParalESN (deep)"]["extended"]["configuration"] == deep
    entry = text["sinmem10"]["ParalESN"]["paper"]
    assert Tuned("sinmem10", "ParalESN", "paper", **entry) == SMALL
    rows = selection.rows(REGRESSION, "ParalESN", {"paper": SMALL}, lambda tuned: tuned.validation)
    assert rows == {Row("ParalESN"): SMALL, Row("ParalESN", "paper"): SMALL}


# -- one configuration on one task -----------------------------------------------------------------


@pytest.fixture
def tiny(monkeypatch, rng):
    """A task of 60 steps per split, washout 10, two targets."""

    def split():
        x = rng.normal(size=(60, 1))
        return SimpleNamespace(inputs=x, targets=np.hstack([np.roll(x, 1), np.roll(x, 2)]))

    made = SimpleNamespace(
        train=split(), validation=split(), test=split(), washout=10, metric="nrmse"
    )
    monkeypatch.setattr(evaluate, "data", lambda task, seed: made)
    return made


def ridge_by_hand(Z, y, alpha, held):
    mean, std = Z.mean(axis=0), Z.std(axis=0)
    S = (Z - mean) / std
    w = np.linalg.solve(S.T @ S + alpha * np.eye(S.shape[1]), S.T @ (y - y.mean(axis=0)))
    return (held - mean) / std @ w + y.mean(axis=0)


def test_validation_and_test_by_hand(tiny):
    reservoir = pe.ParalESN(units=8, seed=3)
    Z, held, test = (
        reservoir.run(s.inputs)[0][10:] for s in (tiny.train, tiny.validation, tiny.test)
    )
    scores = evaluate.validate("any", reservoir, (0.1, 5.0), seed=0)
    for alpha, score in zip((0.1, 5.0), scores, strict=True):
        predicted = ridge_by_hand(Z, tiny.train.targets[10:], alpha, held)
        truth = tiny.validation.targets[10:]
        assert score == pytest.approx(
            np.sqrt(((predicted - truth) ** 2).mean() / (truth**2).mean())
        )
    outcome = evaluate.measure("any", reservoir, 5.0, seed=0)
    predicted, truth = ridge_by_hand(Z, tiny.train.targets[10:], 5.0, test), tiny.test.targets[10:]
    assert outcome.metrics["mse"] == pytest.approx(((predicted - truth) ** 2).mean())
    assert outcome.metrics["rmse"] == pytest.approx(np.sqrt(((predicted - truth) ** 2).mean()))
    assert outcome.metric == "nrmse"
    assert outcome.seconds > 0


# -- runs on record ---------------------------------------------------------------------------------


def test_runs_on_record_are_not_repeated(tiny, tmp_path, monkeypatch):
    path = tmp_path / "records.jsonl"
    wanted = runs.plan(REGRESSION, SMALL, seeds=3)
    first = runs.run(wanted[:2], path, jobs=1)
    assert [record["seed"] for record in first] == [0, 1]
    done = []
    original = runs.carry_out
    monkeypatch.setattr(
        runs, "carry_out", lambda run, *rest: done.append(run) or original(run, *rest)
    )
    every = runs.run(wanted, path, jobs=1)
    assert [run["seed"] for run in done] == [2]
    assert every[:2] == first
    assert {"versions", "machine", "seconds", "metrics", "configuration"} <= set(every[2])
    other = runs.plan(REGRESSION, Tuned(**(vars(SMALL) | {"alpha": 1.0})), seeds=1)
    runs.run(other, path, jobs=1)
    assert len(done) == 2  # another alpha is another run


# -- tables ----------------------------------------------------------------------------------------


def record(task, value, seed, seconds=1.0):
    return {
        "kind": "regression", "task": task, "seed": seed, "metric": "nrmse",
        "metrics": {"nrmse": value, "mse": value**2},
        "seconds": seconds, "space": "paper",
    }  # fmt: skip


def test_cells_by_hand():
    results = [(Row("ParalESN"), record("narma10", v, s)) for s, v in enumerate((0.03, 0.05))]
    results += [
        (Row("ESN"), record("narma10", 0.027, 0)),
        (Row("ESN", "paper"), record("narma10", 0.05, 0)),
    ]
    cells = selection.cells(results)
    cell = cells["narma10", Row("ParalESN")]
    assert (cell.mean, cell.std, cell.seeds) == (pytest.approx(0.04), pytest.approx(0.01), 2)
    assert cell.paper.mean == pytest.approx(0.037)
    assert cell.verdict == "loss"
    assert cell.difference == pytest.approx(0.003 / 0.037)
    assert cells["narma10", Row("ESN")].verdict == "even"  # equal to what the paper prints
    assert cells["narma10", Row("ESN", "paper")].paper.mean == pytest.approx(0.027)
    assert cell.metrics["mse"] == pytest.approx((0.03**2 + 0.05**2) / 2)
    row = Row("ParalESN")
    higher = selection.cells([(row, record("memcap", 120.0, 0))])["memcap", row]
    assert higher.verdict == "win"
    shown = {table.name: table for table in REGRESSION.tables(cells)}
    latex = as_latex(shown["forecasting"])
    assert r"ESN & $\mathbf{2.70}$ \\" in latex  # of one seed, which has no deviation
    assert r"ParalESN & $4.00_{\pm 1.00}$ \\" in latex
    markdown = as_markdown(shown["forecasting"])
    assert "| model | ↓ N10 x0.01 |" in markdown
    assert "| ESN | **2.70** (2.7) |" in markdown
    assert "| ParalESN | 4.00 ±1.00 (3.7) |" in markdown
    assert "narma10,ParalESN,nrmse,0.04" in as_csv(as_list(cells.values()))
    assert "memory" not in shown
    said = summary(cells)
    assert "ESN: better than the paper in 0, even in 1, worse in 0" in said
    beaten = "worse than the best reservoir that the paper prints in"
    assert f"ESN: {beaten} 0 of 1" in said
    assert f"ParalESN: {beaten} 1 of 1, namely N10" in said


def test_reports_are_rebuilt_without_training(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(selection, "configurations", lambda *_: {Row("ParalESN"): SMALL})
    first = reproduce.reproduce(["sinmem10"], ["ParalESN"], tmp_path, seeds=2)
    monkeypatch.setattr(runs, "carry_out", lambda *_: pytest.fail("trained again"))
    (tmp_path / "results.json").unlink()
    again = reproduce.reproduce(["sinmem10"], ["ParalESN"], tmp_path, seeds=2)
    assert again.cells == first.cells
    (row,) = json.loads((tmp_path / "results.json").read_text())
    assert {"task", "model", "metric", "mean", "std", "seeds", "paper", "metrics"} <= set(row)
    assert (row["task"], row["model"], row["seeds"]) == ("sinmem10", "ParalESN", 2)
    assert row["paper"] == pytest.approx(0.37)


# -- the command line ------------------------------------------------------------------------------


def test_reproduce_from_the_command_line(tmp_path):
    call = ["reproduce", "sinmem10", "--models", "ParalESN", "--seeds", "1", "--jobs", "1"]
    done = CliRunner().invoke(app, [*call, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    rows = json.loads((tmp_path / "out" / "results.json").read_text())
    assert {(row["model"], row["held_to"]) for row in rows} == {
        ("ParalESN", None),
        ("ParalESN", "paper"),
    }
    assert "ParalESN [paper space]" in done.output
    assert all(row["task"] == "sinmem10" and 0 < row["mean"] < 1 for row in rows)
    assert "SinMem10" in done.output
    assert Path(tmp_path / "out" / "tables.tex").exists()


def test_wrong_names_are_refused_with_a_hint(tmp_path):
    done = CliRunner().invoke(app, ["reproduce", "narma11", "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "did you mean" in " ".join(done.output.replace("│", " ").split())


def test_data_commands(monkeypatch, tmp_path):
    monkeypatch.setenv("PARALESN_DATA", str(tmp_path))
    monkeypatch.setenv("PARALESN_CACHE", str(tmp_path / "cache"))
    listed = CliRunner().invoke(app, ["data", "list"])
    assert listed.exit_code == 0
    assert "narma10" in listed.output
    checked = CliRunner().invoke(app, ["data", "check", "etth1"])
    assert checked.exit_code == 1
    assert "missing" in checked.output
    unknown = CliRunner().invoke(app, ["data", "fetch", "nonsense"])
    assert unknown.exit_code == 1
    generated = CliRunner().invoke(app, ["data", "fetch", "narma10"])
    assert generated.exit_code == 0


def test_a_row_that_says_the_same_is_left_out():
    same = [(row, record("mg", 1e-4, 0)) for row in (Row("ESN"), Row("ESN", "paper"))]
    other = [(Row("ParalESN"), record("mg", 1e-4, 0) | {"space": "extended"})]
    other += [(Row("ParalESN", "paper"), record("mg", 2e-4, 0))]
    tables = REGRESSION.tables(selection.cells(same + other))
    table = as_rich(next(table for table in tables if table.name == "forecasting"))
    rows = [str(text) for text in table.columns[0].cells]
    assert rows == ["ESN", "ParalESN", "ParalESN [paper space]"]
