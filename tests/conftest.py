import gc
import os
import shutil

# Several pytest workers (-n) share the cores: their BLAS and OpenMP threads would wait for each
# other. This must be said before NumPy is imported. Threads of the package stay as they are.
if workers := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, str(max(1, (os.cpu_count() or 1) // int(workers))))

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import paralesn as pe
from paralesn.estimators.state_forecaster.forecaster import StateForecaster

# Tables are as wide as they are, not as the terminal that pytest-xdist tells its workers of.
for name in ("COLUMNS", "LINES"):
    os.environ.pop(name, None)

# Compilation makes a first example slow, which is no failure; CI must not be a lottery.
settings.register_profile(
    "house", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("house")


def pytest_collection_finish():
    """Modules and tests stay: to search them for garbage takes a third of the time of short tests."""
    gc.freeze()


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture
def blobs(rng):
    """Three classes of points."""
    y = rng.integers(0, 3, 300)
    return rng.normal(size=(300, 4)) + 2.0 * np.eye(3, 4)[y], y


@pytest.fixture
def frame(rng):
    """An hourly table with a load and a temperature."""
    pd = pytest.importorskip("pandas")
    t = np.arange(500)
    wave = np.sin(t * 2 * np.pi / 24)
    return pd.DataFrame(
        {
            "date": pd.date_range("2020-01-01", periods=500, freq="h"),
            "load": 10 + wave + 0.05 * rng.normal(size=500),
            "temp": np.roll(wave, 6),
        }
    )


@pytest.fixture
def data(frame, tmp_path):
    frame.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


@pytest.fixture
def forecaster(frame, tmp_path):
    """A small model of the column load."""
    model = StateForecaster(pe.ParalESN(units=20), horizon=3, standardize=True, difference=False)
    pe.save(model.fit(frame[["load"]]), tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


@pytest.fixture
def one_torch_thread():
    """PyTorch on one thread, so that sums have one order."""
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")  # no longer: its event loop would be in the way of others
def browser():
    """A browser to open pages in; tests that need one are skipped where none can be started."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    names = ("chromium", "chromium-browser", "google-chrome")
    installed = next(filter(None, map(shutil.which, names)), None)
    as_root = hasattr(os, "geteuid") and os.geteuid() == 0
    with playwright.sync_playwright() as session:
        try:
            found = session.chromium.launch(
                executable_path=installed, args=["--no-sandbox"] if as_root else []
            )
        except playwright.Error as error:
            pytest.skip(f"no browser can be started: {error.message.splitlines()[0]}")
        yield found
        found.close()
