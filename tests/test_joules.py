"""Joules of the benchmarks: read from counters where there are some, otherwise called an estimate."""

import time
from contextlib import contextmanager

import pytest
from benchmarks import joules


@contextmanager
def _untracked():
    yield {}


@contextmanager
def _tracked():
    yield {"kwh": 1e-6, "by": "codecarbon 3", "estimate": True}


@pytest.fixture(autouse=True)
def short(monkeypatch, tmp_path):
    monkeypatch.setattr(joules, "_LEAST_SECONDS", 0.0)  # one call
    monkeypatch.setattr(joules, "_COUNTERS", tmp_path)
    monkeypatch.setattr(joules.energy, "measured", _untracked)


def _package(folder, name, microjoules):
    (folder / name).mkdir(exist_ok=True)
    (folder / name / "energy_uj").write_text(f"{microjoules}\n")
    (folder / name / "max_energy_range_uj").write_text("1000000000\n")


def test_packages_are_counted_and_counters_begin_anew(tmp_path):
    _package(tmp_path, "intel-rapl:0", 5_000_000)
    _package(tmp_path, "intel-rapl:1", 999_000_000)
    _package(tmp_path, "intel-rapl:0:0", 0)  # a part of the first package

    def work():
        _package(tmp_path, "intel-rapl:0", 7_000_000)
        _package(tmp_path, "intel-rapl:1", 2_000_000)
        _package(tmp_path, "intel-rapl:0:0", 10**8)

    spent = joules.measure(work)
    assert spent.joules == pytest.approx(2 + 3)
    assert "RAPL" in spent.how
    assert "ESTIMATE" not in spent.how


def test_codecarbon_comes_next(monkeypatch):
    monkeypatch.setattr(joules.energy, "measured", _tracked)
    spent = joules.measure(lambda: None)
    assert spent.joules == pytest.approx(3.6)
    assert "codecarbon" in spent.how
    assert "estimate" in spent.how


def test_otherwise_it_says_that_it_is_an_estimate(monkeypatch):
    clock = iter([1.0, 3.5])
    monkeypatch.setattr(time, "process_time", lambda: next(clock))
    spent = joules.measure(lambda: None)
    assert spent.joules == pytest.approx(2.5 * joules.WATTS)
    assert f"ESTIMATE: CPU seconds times {joules.WATTS:g} W" in spent.how
