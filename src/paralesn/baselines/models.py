"""The trainable models by name, and their sizes."""

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
    """The model of that name."""
    if name not in MODELS:
        raise ValueError(f"model must be one of {', '.join(MODELS)}, got {name!r}")
    return MODELS[name]


def build(name: str, seed: int = 0, **sizes: Any) -> torch.nn.Module:
    """A model with first weights from `seed`; `sizes` are fields of its configuration.

    The global random state is left alone.
    """
    found = kind(name)
    config = replace(found.config(), **sizes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: torch.nn.Module = found.model(config)
    return model


def count_parameters(model: torch.nn.Module) -> int:
    """Trained numbers; a complex number counts as two."""
    return sum(
        part.numel() * (2 if part.is_complex() else 1)
        for part in model.parameters()
        if part.requires_grad
    )
