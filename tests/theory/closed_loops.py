"""Closed loops to study: drawn by chance, set by hand, or trained."""

import numpy as np

import paralesn as pe
from paralesn.layers.state import State
from paralesn.reservoirs.autonomous import ClosedLoop


def random_loop(reservoir, features, rng, difference=False, size=0.3, series=1):
    """A reservoir with random states and a readout of random weights."""
    reservoir = reservoir.fit(np.zeros((1, features)))
    columns, outputs = reservoir.n_features_out_, features
    if reservoir.patches_ is not None:
        columns, outputs = columns // reservoir.patches_.count, reservoir.patches_.size
    states = []
    for width in reservoir.plan().widths:
        h = rng.normal(size=(2, series, width))
        states.append(h[0] + 1j * h[1] if reservoir.layers_[0].is_complex else h[0])
    return ClosedLoop(
        reservoir,
        weights=size * rng.normal(size=(outputs, columns)) / np.sqrt(columns),
        intercept=size * rng.normal(size=outputs),
        difference=difference,
        state=State(tuple(states), reservoir.fingerprint_),
        newest=rng.normal(size=(series, features)),
        mean=np.zeros(outputs),
        scale=np.ones(outputs),
    )


def polynomial(delay, order, weights, intercept, newest):
    """A loop of one value that is a polynomial of the latest `delay` ones, at rest before."""
    reservoir = pe.NVAR(delay=delay, order=order).fit(np.zeros((1, 1)))
    state = State((np.zeros((1, delay)),), reservoir.fingerprint_)
    read = (np.array([weights], float), np.array([intercept], float))
    return ClosedLoop(reservoir, *read, False, state, np.array([[newest]]), np.zeros(1), np.ones(1))


def trained(reservoir, series, alpha, washout=100):
    """A reservoir that learnt to predict the next difference of a standardised series."""
    mean, scale = series.mean(axis=0), series.std(axis=0)
    inputs = (series - mean) / scale
    states, state = reservoir.fit(inputs[:1]).run(inputs[None, :-1])
    readout = pe.Ridge([alpha]).fit(states[0, washout:], np.diff(inputs, axis=0)[washout:])
    read = (np.ascontiguousarray(readout.coef_), np.asarray(readout.intercept_))
    return ClosedLoop(reservoir, *read, True, state, inputs[None, -1], mean, scale)
