"""Layers are arrays and what follows from their shapes."""

import numpy as np
import pytest

import paralesn as pe
from paralesn.engines.base import n_columns
from paralesn.layers.diagonal import check_diagonal_layers
from paralesn.layers.recurrent import check_recurrent_layers


@pytest.mark.parametrize("real", [False, True])
@pytest.mark.parametrize("concat", [False, True])
@pytest.mark.parametrize("mixing", [False, True])
def test_columns_are_those_of_the_states(real, concat, mixing):
    res = pe.ParalESN(units=8, layers=3, real=real, concat=concat, mixing=mixing)
    states, _ = res.run(np.zeros((4, 2)))
    assert n_columns(res.layers_, concat, mixing) == states.shape[1] == res.n_features_out_
    assert {layer.is_complex for layer in res.layers_} == {not real}


def test_inputs_are_the_columns_of_a_time_step():
    assert pe.ParalESN(units=8).fit(np.zeros((4, 2))).layers_[0].n_inputs == 2
    assert pe.ESN(units=8).fit(np.zeros((4, 2))).layers_[0].n_inputs == 2
    assert pe.ParalESN(units=8, vocabulary=5).fit([1, 2]).layers_[0].n_inputs == 1


def test_layers_of_the_other_kind_are_refused():
    diagonal = pe.ParalESN(units=3).fit(np.zeros((2, 1))).layers_
    recurrent = pe.ESN(units=3).fit(np.zeros((2, 1))).layers_
    assert check_diagonal_layers(diagonal) == diagonal
    assert check_recurrent_layers(recurrent) == recurrent
    with pytest.raises(TypeError, match="at least one DiagonalLayer"):
        check_diagonal_layers(recurrent)
    with pytest.raises(TypeError, match="at least one RecurrentLayer"):
        check_recurrent_layers(diagonal)
