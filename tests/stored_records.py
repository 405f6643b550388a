"""Records as commands would have left them, with figures drawn at random: nothing is run."""

import json
from dataclasses import replace
from functools import cache

import numpy as np

from paralesn import files
from paralesn.paper import catalogue, configurations, protocols, records, runs
from paralesn.paper.studies.complexity_models import BY_LENGTH, BY_SIZE, MODELS, ON_DIGITS

SURROUNDINGS = {
    "versions": {"python": "3.12.0", "paralesn": "0.1.0"},
    "machine": {"system": "Linux", "processor": "x86_64", "cores": 2},
}


def run(chosen, seed, value, seconds=1.0):
    """A run of a chosen configuration, as recorded."""
    wanted = runs.plan(protocols.of(chosen.task, chosen.model), chosen, seed + 1)[seed]
    metric = "accuracy" if wanted["kind"] != "regression" else "nrmse"
    more = {"parameters": 256, "metric": metric, "metrics": {metric: value}, "seconds": seconds}
    if wanted["kind"] in ("mnist", "small-mnist"):
        more |= {"trained": 155_000, "timing": {"total": 2 * seconds}}
    return wanted | more | SURROUNDINGS


@cache
def regression(seeds=3):
    """Runs of the paper's four models on all regression tasks, in both spaces."""
    rng = np.random.default_rng(0)
    recorded = []
    for task in protocols.of_kind("regression").tasks():
        scale = catalogue.tasks()[task].scale
        for model in catalogue.MAIN:
            for space in ("paper", "extended"):
                chosen = configurations.shipped(task, model, space)
                for seed in range(seeds) if chosen is not None else ():
                    value = scale * rng.uniform(1, 9)
                    recorded.append(run(chosen, seed, float(value), float(rng.uniform(0.01, 10))))
    return recorded


def real_valued(tasks=("memcap", "lz25", "mg", "mg84", "narma10", "narma30")):
    """Runs of rParalESN, which do worse than any of the others, where they do not do as well."""
    recorded = []
    for task in tasks:
        scale, better = catalogue.tasks()[task].scale, catalogue.tasks()[task].better
        for model in ("rParalESN", "rParalESN (deep)"):
            chosen = configurations.shipped(task, model, "paper")
            value = scale * (0.5 if better == "higher" else 20.0)
            recorded.append(run(chosen, 0, value))
    return recorded


def complexity():
    """What `paralesn complexity` writes."""
    measured = [
        {"kind": "parameters", "model": name, "units": 1024, "parameters": 1000 + i}
        for i, name in enumerate(MODELS)
    ]
    for i, name in enumerate(BY_LENGTH):
        measured += [
            {"kind": "length", "model": name, "units": 128, "steps": T, "seconds": [T * (i + 1e-6)]}
            for T in (100, 1000, 10_000)
        ]
    for i, name in enumerate(BY_SIZE):
        measured += [
            {"kind": "size", "model": name, "units": N, "seconds_per_step": [N * 1e-9 * (i + 1)],
             "peak_bytes": N * 100.0, "parameters": 2 * N, "recurrence_bytes": N * 1000.0}
            for N in (128, 512, 2048)
        ]  # fmt: skip
    batch = {"series": "mnist", "digits": 10, "steps": 784, "limit_bytes": 10**8}
    for name in ON_DIGITS:
        measured += [
            {"kind": "digits", "model": name, "units": N, "needed_bytes": N * 10, **batch,
             "seconds": [N * 1e-3], "peak_bytes": N * 100.0, "out_of_memory": False}
            for N in (128, 512, 2048)
        ]  # fmt: skip
    beyond = {"units": 8192, "needed_bytes": 8 * 8192**2, "out_of_memory": True, **batch}
    measured.append({"kind": "digits", "model": "ESN", **beyond})
    full = {"units": 4096, "matrix_bytes": 8 * 4096**2, "limit_bytes": 10**8, "out_of_memory": True}
    measured.append({"kind": "matrix", "model": "ESN", **full})
    record = {"experiment": "complexity", "rounds": 3, "limit_bytes": 10**8, "series": "mnist"}
    return record | {"measurements": measured, **SURROUNDINGS}


def sensitivity():
    """What `paralesn sensitivity` writes."""
    values = [
        {"value": str(v), "trials": 9, "best": 0.1 * v, "quartiles": [0.2 * v, 0.3 * v, 0.4 * v]}
        for v in (1, 2, 3)
    ]
    return {
        "experiment": "sensitivity", "task": "narma10", "model": "ParalESN", "space": "paper",
        "trials": 27, "effects": [{"name": "tau", "share": 0.4, "values": values}], **SURROUNDINGS,
    }  # fmt: skip


def race():
    """What `paralesn race` writes."""
    settings = {
        "seconds": 9.0,
        "train": 500,
        "validation": 100,
        "test": 50,
        "seed": 0,
        "threads": 2,
    }
    return [
        {"kind": "race", "task": "smnist", "model": model, "settings": settings, "accuracy": top,
         "points": [[1.0, top / 2], [5.0, top]], "seconds": 6.0, "parameters": 1234,
         "configuration": "as it is", **SURROUNDINGS}
        for model, top in (("ParalESN", 0.9), ("LSTM", 0.4))
    ]  # fmt: skip


def write(folder, recorded, name="records.jsonl"):
    """Put runs on record."""
    for record in recorded:
        records.append(folder / name, record)


def write_all(folder):
    """Every kind of record that a report knows."""
    mnist = configurations.shipped("smnist", "ParalESN", "extended")
    write(folder / "results", [*regression(), *(run(mnist, s, 0.97 + 0.001 * s) for s in range(3))])
    write(folder / "results", real_valued())
    long_term = {
        "kind": "long-term", "model": "ReservoirForecaster", "alpha": 1.0, "seconds": 5.0,
        "configuration": {"units": 256}, "metric": "mse", **SURROUNDINGS,
    }  # fmt: skip
    write(
        folder / "results",
        [
            {**long_term, "task": "etth1", "seed": seed, "metrics": {"mse": 0.4, "mae": 0.3}}
            for seed in range(2)
        ],
    )
    archive = {
        "kind": "ucr", "task": "FordA", "model": "ReservoirClassifier", "configuration": {},
        "seed": 0, "metric": "accuracy", "metrics": {"accuracy": 0.9712}, "seconds": 4.0,
        "timing": {"total": 5.5}, "sizes": [3601, 1320, 500, 2], **SURROUNDINGS,
    }  # fmt: skip
    arena = run(replace(mnist, task="lra-text", model="ParalESN (deep)"), 0, 0.8) | {"kind": "lra"}
    pooled = run(configurations.shipped("smnist", "ParalESN (pooled)", "extended"), 0, 0.98)
    small = run(replace(mnist, task="smnist14"), 0, 0.95)
    write(folder / "results", [archive, arena, pooled, small])
    write(folder / "race", race(), "race.jsonl")
    errors = [
        {"units": units, "seed": 0, "linear": 0.9, "perceptron": 1 / units, "formula": 0.1 / units}
        for units in (2, 8, 32)
    ]
    universality = {"experiment": "universality", "settings": {"seeds": 1}, "results": errors}
    for name, record in (
        ("complexity", complexity()),
        ("sensitivity", sensitivity()),
        ("universality", universality | SURROUNDINGS),
    ):
        files.save_json(record, folder / name / f"{name}.json")
    (folder / "results" / "results.json").write_text(json.dumps([{"task": "not a record"}]))
    return [
        folder / name for name in ("results", "race", "complexity", "sensitivity", "universality")
    ]
