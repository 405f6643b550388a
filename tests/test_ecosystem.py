"""The recipes for other libraries work as their page shows them."""

import re
from pathlib import Path

import numpy as np
import pytest

import paralesn as pe

PAGE = Path(__file__).parent.parent / "docs" / "guide" / "ecosystem.md"


def run(title):
    """Run the code of a section; its names."""
    section = re.search(rf"^## {title}\n(.*?)(?=^## |\Z)", PAGE.read_text("utf-8"), re.S | re.M)[1]
    names = {}
    for source in re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE):
        exec(compile(source, f"{PAGE.name}, {title}", "exec"), names)
    return names


@pytest.mark.filterwarnings("ignore")
def test_sktime():
    pytest.importorskip("sktime", reason="sktime is not installed: pip install 'paralesn[sktime]'")
    names = run("sktime")
    y, values, later = names["y"], names["values"], names["later"]
    assert (np.abs(values - y[84:]) < 5).all()
    assert list(names["bounds"].columns) == [(0, 0.9, "lower"), (0, 0.9, "upper")]
    assert (later.index == y.index[89] + np.arange(1, 13)).all()


@pytest.mark.filterwarnings("ignore")
def test_aeon():
    pytest.importorskip("aeon", reason="aeon is not installed: pip install 'paralesn[aeon]'")
    names = run("aeon")
    truth = np.sin(np.arange(312) / 5)
    assert abs(names["one_value"] - truth[302]) < 0.05
    np.testing.assert_allclose(names["all_steps"], truth[300:], atol=0.05)
    assert abs(names["followed"] - truth[300]) < 0.05
    assert abs(names["never_seen"] - (5 - 2 * truth[300])) < 0.1


@pytest.mark.filterwarnings("ignore")
def test_mlforecast():
    pytest.importorskip("mlforecast", reason="mlforecast, which needs pandas 2, is not installed")
    names = run("mlforecast")
    forecast, df = names["forecast"], names["df"]
    truth = np.concatenate(
        [df["y"][df["unique_id"] == site][:24] for site in df["unique_id"].unique()]
    )
    assert np.abs(forecast["reservoir"] / truth - 1).max() < 0.02
    own = pe.ReservoirForecaster(horizon=24).fit(df).forecast()
    assert list(own["unique_id"]) == list(forecast["unique_id"])
    assert np.abs(own["yhat"] / truth - 1).max() < 0.02


def test_skops(tmp_path, monkeypatch):
    pytest.importorskip("skops", reason="skops is not installed: pip install skops")
    monkeypatch.chdir(tmp_path)
    names = run("skops")
    ours = {name for name in names["types"] if name.startswith("paralesn.")}
    assert set(names["types"]) - ours == {"sklearn.tree._tree.Tree"}
    np.testing.assert_array_equal(
        names["again"].predict(names["x"]), names["model"].predict(names["x"])
    )
