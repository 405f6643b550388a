"""Storages: what is refused and how it is said, and that no password is."""

import sys

import pytest

pytest.importorskip("optuna")

import paralesn as pe
from paralesn.workflows import study_storage
from paralesn.workflows.study_storage import hidden, opened
from servers import free_port


@pytest.mark.parametrize(
    ("storage", "shown"),
    [
        ("studies/here", "studies/here"),
        ("postgresql://host/studies", "postgresql://host/studies"),
        ("postgresql://ada@host/studies", "postgresql://ada@host/studies"),
        ("postgresql+psycopg2://ada:sesame@host:1/x", "postgresql+psycopg2://ada:***@host:1/x"),
        ("postgresql://ada:se@sa:me@host/x", "postgresql://ada:***@host/x"),
        ("mysql://ada:sesame@host/x?ssl_password=sesame&a=1", "mysql://ada:***@host/x?ssl_password=***&a=1"),
        ("redis://:sesame@host/3", "redis://:***@host/3"),
    ],
)  # fmt: skip
def test_passwords_are_hidden(storage, shown):
    assert hidden(storage) == shown


@pytest.mark.parametrize(
    ("storage", "message"),
    [
        ("ftp://ada:sesame@host/x", r"storage must be a folder, or a URL .*got 'ftp://ada:\*\*\*@host/x'"),
        ("grpc://host", "storage must be grpc://HOST:PORT, got 'grpc://host'"),
        ("grpc://host:port", "storage must be grpc://HOST:PORT, got 'grpc://host:port'"),
        ("postgresql://ada:sesame@host:port/x", r"storage must be a folder, or a URL .*ada:\*\*\*@host:port"),
    ],
)  # fmt: skip
def test_wrong_urls_are_named(storage, message):
    with pytest.raises(ValueError, match=message) as error:
        opened(storage, "none")
    assert "sesame" not in str(error.value)


@pytest.mark.parametrize(
    ("package", "url"),
    [("psycopg", "postgresql://ada:sesame@127.0.0.1:{}/x"), ("redis", "redis://:sesame@127.0.0.1:{}"),
     ("grpc", "grpc://127.0.0.1:{}")],
)  # fmt: skip
def test_servers_that_cannot_be_reached_are_named(package, url, monkeypatch):
    pytest.importorskip(package, reason="needs the extra storage")
    monkeypatch.setattr(study_storage, "_PATIENCE", 1.0)
    url = url.format(free_port())
    with pytest.raises(ConnectionError, match="storage must be one that can be reached") as error:
        opened(url, "none")
    assert hidden(url) in str(error.value)
    assert "sesame" not in str(error.value)
    assert error.value.__suppress_context__  # drivers may print what they were told


@pytest.mark.parametrize(
    ("package", "url", "cure"),
    [("psycopg", "postgresql://host/x", r"paralesn\[storage\]"),
     ("redis", "redis://host", r"paralesn\[storage\]"),
     ("grpc", "grpc://host:1", r"paralesn\[storage\]"),
     ("sqlalchemy", "sqlite:///x.db", r"paralesn\[search\]"),
     ("pymysql", "mysql://host/x", "pip install pymysql"),
     ("optuna", "studies", r"paralesn\[search\]")],
)  # fmt: skip
def test_missing_packages_are_named_with_their_extra(package, url, cure, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(study_storage, "find_spec", lambda name: None)
    with pytest.raises(ModuleNotFoundError, match=rf"(?i){package}; install it with: .*{cure}"):
        opened(url, "none")


def test_a_folder_that_is_only_read_is_not_made(tmp_path):
    assert opened(str(tmp_path / "studies"), "one.log", create=False) is None
    assert opened(f"sqlite:///{tmp_path}/one.db", "", create=False) is None
    assert list(tmp_path.iterdir()) == []


def test_tune_refuses_as_well():
    with pytest.raises(ValueError, match="storage must be a folder, or a URL"):
        pe.tune(pe.SmootherBank(horizon=2), [1.0, 3.0] * 20, budget=1, storage="ftp://host")
