"""Forecasters whose targets share one model, and forecasters that read changes."""

from dataclasses import replace

import numpy as np
import pytest

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

LINEAR = pe.ParalESN(units=12, rho=(0.5, 0.95), theta=(0.0, 3.0), mixing=False, bias_scale=0.0)
TANH = pe.ParalESN(units=12, rho=(0.5, 0.95), input_scale=0.3)


@pytest.fixture
def waves():
    t = np.arange(420)[:, None]
    periods, phases, levels = np.array([[9.0, 7.0, 12.0], [0.0, 1.0, 2.0], [3.0, -1.0, 0.5]])
    return np.sin(t / periods + phases) + levels


def model(**changes):
    plain = {"washout": 20, "difference": False, "standardize": False}
    return StateForecaster(TANH, pe.Ridge([1e-3]), **plain | changes)


def test_one_readout_is_learnt_from_the_states_of_every_target(waves):
    h = 5
    found = model(horizon=h, shared=True, held_out=0).fit(waves)
    states, targets = [], []
    for y in waves.T:
        z, _ = pe.ParalESN(**TANH.get_params()).run(y[:-h, None])
        states.append(z[20:])
        targets.append([y[t + 1 : t + 1 + h] for t in range(20, len(y) - h)])
    expected = pe.Ridge([1e-3]).fit(np.concatenate(states), np.concatenate(targets))
    np.testing.assert_allclose(found.readout_.coef_, expected.coef_, rtol=1e-9)
    np.testing.assert_allclose(found.readout_.intercept_, expected.intercept_, rtol=1e-9)


@pytest.mark.parametrize("difference", [False, True, "inputs"])
@pytest.mark.parametrize("horizon", [1, 4])
def test_shared_forecasts_are_those_of_every_target_alone(waves, difference, horizon):
    shared = model(horizon=horizon, shared=True, difference=difference).fit(waves)
    values, lower, upper = shared.forecast(12, interval=0.5)
    assert values.shape == lower.shape == upper.shape == (12, 3)
    for i, y in enumerate(waves.T):
        alone = model(horizon=horizon, difference=difference).fit(y)
        alone.fitted_ = replace(alone.fitted_, readout=shared.readout_, calibration=None)
        np.testing.assert_allclose(alone.forecast(12), values[:, i], rtol=1e-12)
        np.testing.assert_allclose(
            alone.predict(y[:50], follow=True), shared.predict(waves[:50], follow=True)[..., i]
        )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("horizon", "only_last"), [(1, False), (4, False), (4, True)])
def test_the_level_of_the_series_does_not_matter_to_one_that_reads_changes(
    waves, shared, horizon, only_last
):
    setting = {"horizon": horizon, "only_last": only_last, "shared": shared, "held_out": 0.2}
    low = model(difference="inputs", **setting).fit(waves)
    high = model(difference="inputs", **setting).fit(waves + 500.0)
    steps = None if only_last else 9
    np.testing.assert_allclose(high.forecast(steps) - 500.0, low.forecast(steps), atol=1e-8)
    np.testing.assert_allclose(high.predict(waves + 500.0) - 500.0, low.predict(waves), atol=1e-8)
    other = model(difference=True, **setting).fit(waves)
    assert np.abs(other.predict(waves + 5) - 5 - other.predict(waves)).max() > 1e-3


def test_reading_changes_is_to_take_the_response_to_a_constant_away(waves):
    """h driven by changes is h - h(constant at the newest value), unit by unit up to a factor."""
    y = np.concatenate([np.full(4000, waves[0, 0]), waves[:, 0]])[:, None]
    reservoir = pe.ParalESN(**LINEAR.get_params()).fit(y)
    layer = reservoir.layers_[0]
    values, changes = (
        reservoir.run(x)[0][-300:, :12] + 1j * reservoir.run(x)[0][-300:, 12:]
        for x in (y, np.diff(y, axis=0, prepend=y[:1]))
    )
    steady = layer.tau * layer.w_in[:, 0] / (1 - layer.eigenvalues)
    expected = (values - y[-300:] * steady) * (layer.eigenvalues - 1) / layer.eigenvalues
    np.testing.assert_allclose(changes, expected, atol=1e-9)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("horizon", [1, 3])
def test_updates_in_pieces_lead_where_one_run_leads(waves, shared, horizon, tmp_path):
    known = np.cos(np.arange(430) / 5)
    setting = {"horizon": horizon, "shared": shared, "difference": "inputs", "held_out": 0.2}
    first = model(**setting).fit(waves[:300], known[:300])
    pieces = model(**setting).fit(waves[:300], known[:300])
    first.update(waves[300:], known[300:420])
    for a, b in ((300, 301), (301, 340), (340, 420)):
        pieces.update(waves[a:b], known[a:b])
    pe.save(pieces, tmp_path / "model")
    loaded = pe.load(tmp_path / "model")
    ahead = known[420 : 420 + 2 * horizon]
    expected = first.forecast(2 * horizon, ahead)
    for one in (pieces, loaded):
        np.testing.assert_array_equal(one.forecast(2 * horizon, ahead), expected)
    # From every step of what was seen, the forecast is the one made when it was the newest.
    again = model(**setting).fit(waves[:300], known[:300])
    every = again.predict(waves[300:], known[300 : 420 + horizon], follow=True)
    np.testing.assert_allclose(every[-1], expected[:horizon].reshape(every[-1].shape), rtol=1e-9)


@pytest.mark.parametrize("every", [1, 7])
def test_refitting_learns_what_fitting_on_everything_learns(waves, every):
    setting = {"horizon": 2, "shared": True, "difference": "inputs", "held_out": 0, "every": every}
    whole = model(**setting).fit(waves)
    grown = model(**setting).fit(waves[:200]).update(waves[200:], refit=True)
    np.testing.assert_allclose(grown.readout_.coef_, whole.readout_.coef_, rtol=1e-6)


@pytest.mark.parametrize("only_last", [False, True])
def test_every_so_many_steps_are_learnt_from(waves, only_last, monkeypatch):
    h, every, y = 5, 7, waves[:, 0]
    monkeypatch.setattr("paralesn.estimators.state_forecaster.learning._VALUES", 500)  # many blocks
    found = model(horizon=h, only_last=only_last, every=every, held_out=0).fit(y)
    z, _ = pe.ParalESN(**TANH.get_params()).run(y[:-h, None])
    steps = range(20, len(z), every)
    first = h if only_last else 1
    targets = [y[t + first : t + 1 + h] for t in steps]
    expected = pe.Ridge([1e-3]).fit(z[steps], np.array(targets))
    np.testing.assert_allclose(found.readout_.coef_, expected.coef_, rtol=1e-6)


def test_wrong_arguments_are_named(waves):
    with pytest.raises(ValueError, match=r"difference must be True, False or 'inputs'.*'in'"):
        model(difference="in").fit(waves)
    with pytest.raises((TypeError, ValueError), match="shared must be"):
        model(shared="yes").fit(waves)
    with pytest.raises(ValueError, match="every must be"):
        model(every=0).fit(waves)
