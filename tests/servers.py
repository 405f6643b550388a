"""Servers that tests start for themselves, in a temporary folder and on a free port."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pytest


def program(name):
    """Where a program of PostgreSQL or Redis is, or skip."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    path = os.pathsep.join([*map(str, versions), os.environ.get("PATH", "")])
    found = shutil.which(name, path=path)
    if found is None:
        pytest.skip(f"needs {name}, which is not on this machine")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _user():
    """Whom servers run as: PostgreSQL refuses root."""
    import pwd

    if os.getuid() != 0:
        return {}
    for name in ("postgres", "nobody"):
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
    return pytest.skip("needs another user than root, as initdb does")


@contextmanager
def _started(command, port, **options):
    """A server, ended at the end of the block."""
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, **quiet, **options)
    try:
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            assert process.poll() is None, f"{command[0]} ended with {process.returncode}"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                time.sleep(0.05)
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)


@contextmanager
def postgresql():
    """A new PostgreSQL server: a function that makes an empty database and gives its URL."""
    pytest.importorskip("psycopg", reason="needs psycopg, of the extra storage")
    initdb, postgres, user = program("initdb"), program("postgres"), _user()
    # Not in pytest's folders, which only the user who runs the tests may enter.
    with tempfile.TemporaryDirectory(prefix="postgresql-", dir="/tmp") as folder:
        if user:
            os.chown(folder, user["user"], user["group"])
        data, port = Path(folder, "data"), free_port()
        password = Path(folder, "password")
        password.write_text("open sesame")
        password.chmod(0o644)
        subprocess.run(
            [initdb, "-D", data, "-U", "ada", "--auth=scram-sha-256", "--no-sync",
             f"--pwfile={password}"],
            check=True, capture_output=True, cwd=folder, **user,
        )  # fmt: skip
        options = ["-h", "127.0.0.1", "-p", str(port), "-k", folder, "-F"]
        url = f"postgresql://ada:open%20sesame@127.0.0.1:{port}/postgres"
        with _started([postgres, "-D", str(data), *options], port, cwd=folder, **user):
            _wait_for(url)
            numbers = count(1)
            yield lambda: _new_database(url, f"studies{next(numbers)}")


def _new_database(url, name):
    """An empty database of a server: its URL, which holds a password."""
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url.rpartition("/")[0] + f"/{name}"


def _wait_for(url):
    """Wait until the server answers; the port is open before."""
    import psycopg

    for _ in range(200):
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            time.sleep(0.05)


@contextmanager
def redis():
    """An empty Redis server: its URL, which holds a password."""
    pytest.importorskip("redis", reason="needs redis, of the extra storage")
    server, port = program("redis-server"), free_port()
    with tempfile.TemporaryDirectory(prefix="redis-") as folder:
        command = [server, "--port", str(port), "--requirepass", "sesame", "--save", "",
                   "--bind", "127.0.0.1", "--dir", folder]  # fmt: skip
        with _started(command, port):
            yield f"redis://:sesame@127.0.0.1:{port}"


PROXY = """
import sys, warnings
warnings.simplefilter("ignore")
import optuna
optuna.storages.run_grpc_proxy_server(
    optuna.storages.get_storage(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2])
)
"""


@contextmanager
def grpc_proxy(behind):
    """A gRPC proxy before a database of PostgreSQL (SQLite hands trials out twice): its URL."""
    pytest.importorskip("grpc", reason="needs grpcio, of the extra storage")
    port, url = free_port(), behind.replace("postgresql://", "postgresql+psycopg://")
    with _started([sys.executable, "-c", PROXY, url, str(port)], port):
        yield f"grpc://127.0.0.1:{port}"
