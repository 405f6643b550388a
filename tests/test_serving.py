"""The recipes of the page on serving, as they stand there: real servers, real clients."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

import paralesn as pe

PAGE = (Path(__file__).parent.parent / "docs" / "guide" / "serving.md").read_text("utf-8")
FILES = dict(re.findall(r"^```python\n# (\w+\.py)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))

pytestmark = pytest.mark.slow


def write(folder, *names):
    for name in names:
        (folder / name).write_text(FILES[name], encoding="utf-8")


def run(folder, *arguments):
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@contextmanager
def serving(folder, *command, path="/openapi.json"):
    """A server of its own process, answering, and the address it answers at."""
    import httpx

    port = free_port()
    path_of_programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (folder / "server.log").open("ab") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", *command, "--host", "127.0.0.1", "--port", str(port)],
            cwd=folder, stdout=log, stderr=log, start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PATH": path_of_programs},
        )  # fmt: skip
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            assert server.poll() is None, (folder / "server.log").read_text()
            try:
                httpx.get(address + path)
                break
            except httpx.TransportError:
                time.sleep(0.1)
        else:
            raise AssertionError((folder / "server.log").read_text())
        yield server, address
    finally:
        with suppress(ProcessLookupError):  # and what it started
            os.killpg(server.pid, signal.SIGKILL)
        server.wait()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with the trained model and the service."""
    for package in ("fastapi", "uvicorn", "httpx"):
        pytest.importorskip(package, reason=f"{package} is not installed: pip install {package}")
    folder = tmp_path_factory.mktemp("serving")
    write(folder, "train.py", "service.py", "client.py")
    run(folder, "train.py")
    return folder


def fresh(trained, folder):
    """A folder with the same model and no clients."""
    write(folder, "service.py", "client.py")
    (folder / "model.safetensors").write_bytes((trained / "model.safetensors").read_bytes())
    return folder


SERVICE = ("uvicorn", "service:app")
ROWS = np.random.default_rng(4).normal(size=(60, 2))


def offline(trained, rows):
    """What the model says of rows one after the other, and at once to within rounding.

    BLAS may round the product of many rows otherwise than that of one.
    """
    model, state, told = pe.load(trained / "model.safetensors"), None, []
    for row in rows:
        predicted, state = model.predict(row[None], state=state, return_state=True)
        told.append(np.ravel(predicted)[0])
    np.testing.assert_allclose(told, model.predict(rows), rtol=1e-13, atol=1e-13)
    return told


def test_the_client_prints_what_the_page_shows(trained, tmp_path):
    from test_docs import RoundedChecker

    with serving(fresh(trained, tmp_path), *SERVICE) as (_, address):
        printed = run(tmp_path, "client.py", address)
    shown = re.search(r"^It prints:\n\n```text\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)[1]
    assert RoundedChecker().check_output(shown, printed, 0), printed


def test_clients_at_once_get_the_answers_of_one_at_a_time(trained, tmp_path):
    """Six threads, each a client with rows of its own: bit for bit what a batch run says."""
    import httpx

    answers = {}

    def send(name, rows, address):
        with httpx.Client(base_url=address) as http:
            answers[name] = [
                http.post(f"/clients/{name}/rows", json=row).raise_for_status().json()
                for row in rows.tolist()
            ]

    with serving(fresh(trained, tmp_path), *SERVICE) as (_, address):
        threads = [
            threading.Thread(target=send, args=(f"client-{k}", ROWS + k, address)) for k in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    for k in range(6):
        got = answers[f"client-{k}"]
        assert [answer["rows"] for answer in got] == list(range(1, 61))
        told = [answer["prediction"][0] for answer in got]
        np.testing.assert_array_equal(told, offline(trained, ROWS + k))


BAD = {
    "[NaN, 1]": "X must be finite, got NaN at step 0, feature 0",
    "[1, Infinity]": "X must be finite, got infinity at step 0, feature 1",
    "[1, 2, 3]": "X has 3 features, but ReservoirRegressor is expecting 2 features",
    "[]": "at least one feature",
    '["warm", 1]': "X must hold real numbers",
    '["1", "2"]': "X must hold real numbers",
    "[null, 1]": "X must be finite, got NaN at step 0, feature 0",
    "[[1, 2], [3, 4]]": "a row must be a list of numbers",
    "0.5": "a row must be a list of numbers",
    "{}": "a row must be a list of numbers",
    "[1e308, 1e308]": "small enough|too large|contains NaN",
    f"[1{'0' * 400}, 1]": "X must hold real numbers",
}


def test_bad_rows_are_refused_and_change_nothing(trained, tmp_path):
    import httpx

    with (
        serving(fresh(trained, tmp_path), *SERVICE) as (_, address),
        httpx.Client(base_url=address, headers={"Content-Type": "application/json"}) as http,
    ):
        told = []
        for row, (body, message) in zip(ROWS.tolist(), [*BAD.items()] * 5, strict=True):
            refused = http.post("/clients/a/rows", content=body)
            assert refused.status_code == 422, (body, refused.text)
            assert re.search(message, refused.json()["detail"])
            told += http.post("/clients/a/rows", json=row).json()["prediction"]
        np.testing.assert_array_equal(told, offline(trained, ROWS))
        assert http.post("/clients/a/rows", content="[1,").status_code == 422  # no JSON
        for name in ("..%2fmodel", "A", "x" * 65, "a.b"):
            assert http.post(f"/clients/{name}/rows", json=[1, 2]).status_code in (404, 422)
        assert http.get("/clients/nobody").status_code == 404
        assert http.get("/clients/a").json() == {"rows": 60, "prediction": told[-1:]}
        http.delete("/clients/a").raise_for_status()
        again = http.post("/clients/a/rows", json=ROWS[0].tolist()).json()
        assert again == {"rows": 1, "prediction": told[:1]}
    assert sorted(path.name for path in (tmp_path / "clients").iterdir()) == ["a.safetensors"]


def test_a_killed_service_resumes_bit_for_bit(trained, tmp_path):
    """Killed while rows arrive, twice; the client asks how far it came and goes on from there."""
    import httpx

    fresh(trained, tmp_path)
    told: dict[int, float] = {}
    for stop in (0.4, 0.7, None):
        with (
            serving(tmp_path, *SERVICE) as (server, address),
            httpx.Client(base_url=address) as http,
        ):
            seen = http.get("/clients/a")
            start = seen.json()["rows"] if seen.status_code == 200 else 0
            assert start in (len(told), len(told) + 1)  # the last answer may have been lost
            if start:
                told[start] = seen.json()["prediction"][0]
            if stop:
                threading.Timer(stop, server.kill).start()
            try:
                for row in np.tile(ROWS, (30, 1))[start:1800].tolist():
                    answer = http.post("/clients/a/rows", json=row).raise_for_status().json()
                    told[answer["rows"]] = answer["prediction"][0]
                    if not stop and answer["rows"] >= start + 60:
                        break
            except httpx.TransportError:
                assert stop
    assert list(told) == list(range(1, len(told) + 1))
    assert len(told) > 60
    whole = offline(trained, np.tile(ROWS, (30, 1))[: len(told)])
    np.testing.assert_array_equal(list(told.values()), whole)


def test_states_of_another_model_are_refused(trained, tmp_path):
    import httpx

    fresh(trained, tmp_path)
    x = np.random.default_rng(0).normal(size=(200, 2))
    other = pe.ReservoirRegressor(pe.ParalESN(units=9), washout=5).fit(x, x[:, 0])
    (tmp_path / "clients").mkdir()
    pe.save(other.state_, tmp_path / "clients" / "a.safetensors", metadata={"rows": 1})
    with serving(tmp_path, *SERVICE) as (_, address):
        refused = httpx.post(address + "/clients/a/rows", json=[1, 2])
    assert refused.status_code == 409
    assert "of another model" in refused.json()["detail"]


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A folder where the recipe for MLflow ran, and the address of its model."""
    pytest.importorskip("mlflow", reason="MLflow is not installed: pip install mlflow-skinny")
    pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("mlflow")
    write(folder, "pyfunc_model.py", "log.py")
    address, *labels = run(folder, "log.py").splitlines()
    assert labels == ["['slow' 'fast' 'slow' 'fast']"]
    return folder, address


def test_mlflow_logs_parameters_and_a_model_without_pickle(logged):
    import sqlite3

    folder, _ = logged
    with sqlite3.connect(folder / "mlflow.db") as database:
        parameters = dict(database.execute("select key, value from params"))
        ((accuracy,),) = database.execute("select value from metrics where key = 'accuracy'")
    assert parameters["features__units"] == "1024"
    assert accuracy == 1.0
    (found,) = folder.glob("mlruns/**/MLmodel")
    names = {path.name for path in found.parent.rglob("*") if path.is_file()}
    assert {"pyfunc_model.py", "classifier.safetensors"} <= names
    assert not [name for name in names if name.endswith((".pkl", ".joblib"))]


def test_the_server_of_mlflow_answers_as_the_model_does(logged):
    import httpx

    folder, _ = logged
    (found,) = folder.glob("mlruns/**/MLmodel")
    t = np.arange(100)
    series = np.stack([np.sin(t / 9 + 1), np.sin(t / 7 + 2), np.sin(t / 7)])
    command = ("mlflow", "models", "serve", "-m", str(found.parent), "--env-manager", "local")
    with serving(folder, *command, path="/ping") as (_, address):
        answer = httpx.post(address + "/invocations", json={"inputs": series.tolist()}, timeout=60)
        refused = httpx.post(address + "/invocations", json={"inputs": [[1.0, 2.0]]}, timeout=60)
    assert json.loads(answer.text) == {"predictions": ["slow", "fast", "fast"]}
    assert refused.status_code == 400
    model = pe.load(folder / "classifier.safetensors")
    assert model.predict(series).tolist() == ["slow", "fast", "fast"]
