"""The trainable models by name, with the paper's sizes."""

from dataclasses import replace
from typing import Any, NamedTuple

from paralesn.baselines import lru, lstm, mamba, s4, transformer
from paralesn.runtime.pytorch import torch


class Kind(NamedTuple):
    """A model's class and the configuration it takes."""

    model: Any
    config: Any


MODELS = {
    "LSTM": Kind(lstm.LSTM, lstm.Config),
    "Transformer": Kind(transformer.Transformer, transformer.Config),
    "S4": Kind(s4.S4, s4.Config),
    "LRU": Kind(lru.LRU, lru.Config),
    "Mamba": Kind(mamba.Mamba, mamba.Config),
}


def kind(name: str) -> Kind:
    """Class and configuration of the model of that name."""
    if name not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {name!r}")
    return MODELS[name]


def build(name: str, seed: int = 0, **sizes: Any) -> torch.nn.Module:
    """Make a model with initial weights drawn from `seed`.

    The global random state is left alone.

    Parameters
    ----------
    name : {"LSTM", "Transformer", "S4", "LRU", "Mamba"}
    seed : int
    **sizes
        Fields of the model's configuration; the others are the paper's.

    Returns
    -------
    torch.nn.Module
        From series (B, T, F) to scores (B, classes).

    Examples
    --------
    >>> model = build("LSTM", features=2, classes=3, hidden=8)
    >>> tuple(model(torch.zeros(5, 20, 2)).shape)
    (5, 3)
    """
    model_class, config_class = kind(name)
    config = replace(config_class(), **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: torch.nn.Module = model_class(config)
    return model


def count_parameters(model: torch.nn.Module) -> int:
    """Number of trained real numbers; a complex weight counts as two.

    Examples
    --------
    >>> count_parameters(build("LSTM"))
    151690
    """
    return sum(
        weights.numel() * (2 if weights.is_complex() else 1)
        for weights in model.parameters()
        if weights.requires_grad
    )
