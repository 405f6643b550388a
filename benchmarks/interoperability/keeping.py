"""Models kept and sent: pickle and its relatives, skops, our own files, MLflow."""

import copy
import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import paralesn as pe
from benchmarks.interoperability.case import (
    INPUTS,
    LABELS,
    SERIES,
    TARGET,
    WAVE,
    case,
    check,
    refusal,
    same,
)
from benchmarks.interoperability.searches import classifier, regressor

GROUP = "keeping"


def fitted_pipeline() -> Any:
    """Ours and scikit-learn's in one."""
    pipe = make_pipeline(pe.FilterBank(units=128), StandardScaler(), LogisticRegression())
    return pipe.fit(SERIES, LABELS)


def models() -> dict[str, tuple[Any, Any]]:
    """Fitted models of each kind, and what each says."""
    return {
        "classifier": (classifier().fit(SERIES, LABELS), lambda m: m.decision_function(SERIES)),
        "regressor": (regressor().fit(INPUTS, TARGET), lambda m: m.predict(INPUTS)),
        "forecaster": (pe.ReservoirForecaster(horizon=3).fit(WAVE), lambda m: m.forecast()),
        "pipeline": (fitted_pipeline(), lambda m: m.predict_proba(SERIES)),
    }


def kept(way: Any) -> str:
    """Send each model through a way, and compare what it says."""
    for name, (model, answer) in models().items():
        same(answer(way(model)), answer(model), f"answers of the {name}")
    return "classifier, regressor, forecaster, pipeline: to the bit"


@case(GROUP, "pickle and deepcopy")
def pickled() -> str:
    kept(copy.deepcopy)
    return kept(lambda model: pickle.loads(pickle.dumps(model)))


@case(GROUP, "cloudpickle", "cloudpickle")
def cloudpickled() -> str:
    import cloudpickle

    return kept(lambda model: cloudpickle.loads(cloudpickle.dumps(model)))


@case(GROUP, "joblib.dump, memory-mapped load")
def joblib_file() -> str:
    def way(model: Any) -> Any:
        joblib.dump(model, "model.joblib")
        return joblib.load("model.joblib", mmap_mode="r")

    return kept(way)


@case(GROUP, "joblib.Parallel, processes", slow=True)
def parallel() -> str:
    def fit(units: int) -> np.ndarray:
        return regressor(units).fit(INPUTS, TARGET).predict(INPUTS)

    there = joblib.Parallel(n_jobs=2)(joblib.delayed(fit)(units) for units in (10, 20))
    for units, answers in zip((10, 20), there, strict=True):
        same(answers, fit(units), "answers of another process")
    return "the same to the bit"


@case(GROUP, "joblib.Parallel, threads")
def threads() -> str:
    model = classifier().fit(SERIES, LABELS)
    cuts = np.array_split(SERIES, 6)
    there = joblib.Parallel(n_jobs=6, prefer="threads")(
        joblib.delayed(model.decision_function)(cut) for cut in cuts
    )
    same(np.concatenate(there), np.concatenate([model.decision_function(c) for c in cuts]), "they")
    return "one model in six threads: the same to the bit"


@case(GROUP, "joblib.Memory in a pipeline")
def memory() -> str:
    cache = joblib.Memory("cache", verbose=0)
    pipe = make_pipeline(pe.FilterBank(units=128), LogisticRegression(), memory=cache)
    first = pipe.fit(SERIES, LABELS).predict_proba(SERIES)
    hashes = {joblib.hash(pe.FilterBank(units=128)), joblib.hash(pe.FilterBank(units=128))}
    check(len(hashes) == 1, "equal models have different hashes")
    again = pipe.fit(SERIES, LABELS)
    same(again.predict_proba(SERIES), first, "answers from the cache")
    files = len(list(Path("cache").rglob("output.pkl")))
    check(files == 1, f"{files} cached results of one computation")
    return "features computed once"


@case(GROUP, "skops", "skops")
def skops() -> str:
    import skops.io as sio

    def way(model: Any) -> Any:
        data = sio.dumps(model)
        unknown = sio.get_untrusted_types(data=data)
        check(all(name.startswith("paralesn.") for name in unknown), f"to trust: {unknown}")
        return sio.loads(data, trusted=unknown)

    return kept(way) + "; only paralesn's types to trust"


@case(GROUP, "pe.save, with a readout of scikit-learn")
def saved() -> str:
    def way(model: Any) -> Any:
        pe.save(model, "model.safetensors")
        return pe.load("model.safetensors")

    model = pe.ReservoirClassifier(pe.FilterBank(units=128), LogisticRegression())
    model.fit(SERIES, LABELS)
    same(way(model).predict_proba(SERIES), model.predict_proba(SERIES), "probabilities")
    return kept(way)


@case(GROUP, "pe.save, with a forest: refused")
def not_saved() -> str:
    from sklearn.ensemble import RandomForestRegressor

    model = pe.ReservoirRegressor(readout=RandomForestRegressor(2), washout=20)
    return refusal(lambda: pe.save(model.fit(INPUTS, TARGET), "model"))


@case(GROUP, "MLflow: parameters and metrics", "mlflow", "sqlalchemy", "alembic", slow=True)
def mlflow_parameters() -> str:
    import mlflow

    mlflow.set_tracking_uri("sqlite:///mlflow.db")
    model = fitted_pipeline()
    nested = regressor().get_params()
    with mlflow.start_run() as run:
        mlflow.log_params(model.get_params())
        mlflow.log_params({f"regressor__{name}": value for name, value in nested.items()})
        mlflow.log_metric("accuracy", model.score(SERIES, LABELS))
    logged = mlflow.get_run(run.info.run_id).data.params
    check(logged["filterbank__units"] == "128", "units are not logged")
    check(logged["regressor__reservoir__units"] == "30", "units are not logged")
    longest = max(logged.values(), key=len)
    return f"{len(logged)} parameters, the longest of {len(longest)} characters"


@case(GROUP, "MLflow: pyfunc from code", "mlflow", "pandas", slow=True)
def mlflow_model() -> str:
    import mlflow

    lines = (
        "import mlflow, numpy as np, paralesn as pe",
        "class Saved(mlflow.pyfunc.PythonModel):",
        "    def load_context(self, context):",
        "        self.model = pe.load(context.artifacts['model'])",
        "    def predict(self, context, model_input, params=None):",
        "        return self.model.predict(np.asarray(model_input))",
        "mlflow.models.set_model(Saved())",
    )
    Path("code.py").write_text("\n".join(lines))
    model = classifier().fit(SERIES, LABELS)
    pe.save(model, "model.safetensors")
    mlflow.pyfunc.save_model(
        "logged", python_model="code.py", artifacts={"model": "model.safetensors"},
        pip_requirements=["paralesn"],
    )  # fmt: skip
    again = mlflow.pyfunc.load_model("logged")
    same(again.predict(SERIES), model.predict(SERIES), "labels")
    check(not list(Path("logged").rglob("*.pkl")), "there is a pickle")
    return "the same labels, no pickle"
