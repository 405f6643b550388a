"""The trainable models by name, their sizes, and what the paper sweeps of each."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from paralesn.baselines import lru, lstm, mamba, s4, transformer
from paralesn.engines.torch_extra import torch

if TYPE_CHECKING:
    from optuna import Trial

WEIGHT_DECAYS = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


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


def suggest(trial: "Trial", name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The paper's sweep as a trial of Optuna: fields of the configuration, and of the training.

    Learning rate log-uniform on [1e-4, 1e-2], weight decay from a list; for the LRU radii and
    phases too.
    """
    kind(name)
    training = {
        "learning_rate": trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
        "weight_decay": trial.suggest_categorical("weight_decay", WEIGHT_DECAYS),
    }
    if name != "LRU":
        return {}, training
    low = trial.suggest_float("rho_min", 0.0, 1.0)
    high = trial.suggest_float("rho_max", 0.8, 1.0)
    if low > high:  # not a configuration; see the notes on the paper's grids
        import optuna

        raise optuna.TrialPruned
    theta = trial.suggest_float("theta_max", 0.001, math.pi)
    return {"rho_min": low, "rho_max": high, "theta_max": theta}, training
