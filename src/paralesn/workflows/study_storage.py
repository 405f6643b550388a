"""Storages of Optuna studies: a folder of journals, a database, Redis or a gRPC proxy.

Any number of processes on any number of machines may open one storage together. Whoever comes
first makes what is missing; whoever only reads makes nothing.
"""

import atexit
import random
import re
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from paralesn import checks
from paralesn.files import DamagedFileError, require
from paralesn.workflows.study_journal import StudyJournal
from paralesn.workflows.worker_signs import SIGNS, Signs

if TYPE_CHECKING:
    import optuna
    from optuna.storages import BaseStorage

FORMS = (
    "a folder, or a URL that begins with sqlite:///, postgresql://, mysql://, redis:// or grpc://"
)
_PATIENCE = 10.0  # seconds until a server counts as out of reach
_SETTLING = 60.0  # seconds in which processes that start together have made the tables
# What Optuna raises where lines of a journal mean nothing to it.
_UNREADABLE = (AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)
_connected: dict[tuple[str, Signs], Any] = {}  # of this process: engines and channels are not cheap


# -- addresses -------------------------------------------------------------------------------------


def is_url(storage: str) -> bool:
    """Whether a storage is named by a URL, not by a folder."""
    return "://" in storage


def hidden(storage: str) -> str:
    """A storage as it may be shown: without passwords.

    Examples
    --------
    >>> hidden("postgresql://ada:secret@host/studies?sslpassword=secret")
    'postgresql://ada:***@host/studies?sslpassword=***'
    >>> hidden("studies")
    'studies'
    """
    if not is_url(storage):
        return storage
    storage = re.sub(r"(://[^:/@]*):.*@", r"\1:***@", storage)
    return re.sub(r"([?&][^=&]*pass[^=&]*=)[^&#]*", r"\1***", storage)


def checked(storage: str) -> str:
    """The storage; no name at all and a URL of a kind that is not known are errors."""
    if not storage.strip():
        raise checks.fail("storage", storage, FORMS)
    if not is_url(storage):
        return storage
    scheme = storage.partition("://")[0]
    if scheme.partition("+")[0] not in _OPENERS:
        raise checks.fail("storage", hidden(storage), FORMS)
    if scheme == "grpc":
        _host_and_port(storage)
    return storage


def _host_and_port(storage: str) -> tuple[str, int]:
    """Host and port of a gRPC proxy."""
    try:
        parts = urlsplit(storage)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise checks.fail("storage", hidden(storage), "grpc://HOST:PORT")
    return host, port


@contextmanager
def _reaching(storage: str) -> Iterator[None]:
    """Turn whatever a driver raises into an error that names the storage, not its password."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        is_malformed = isinstance(error, ValueError) or type(error).__name__ == "ArgumentError"
        reason = " ".join(str(getattr(error, "orig", None) or error).split())
        secret = re.search(r"://[^:/@]*:(.*)@", storage)
        for text in {secret[1], unquote(secret[1])} - {""} if secret else ():
            reason = reason.replace(text, "***")
        expected = FORMS if is_malformed else "one that can be reached"
        kind = ValueError if is_malformed else ConnectionError
        raise kind(f"storage must be {expected}, got {hidden(storage)!r}: {reason}") from None


# -- opening ---------------------------------------------------------------------------------------


def opened(
    storage: str, journal: str, signs: Signs = SIGNS, create: bool = True
) -> "BaseStorage | None":
    """Open a storage.

    Parameters
    ----------
    storage : str
        A folder or a URL.
    journal : str
        Name of the file in a folder.
    signs : Signs
        How often workers show that they are alive.
    create : bool
        Whether a folder, a file or tables may be made. If not, None stands for what is not there.

    Returns
    -------
    storage : optuna.storages.BaseStorage or None
    """
    if not is_url(storage) and not create and not (Path(storage) / journal).exists():
        return None
    optuna = require("optuna", "search", purpose="a search")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if not is_url(storage):
        return _journal(Path(storage) / journal)
    key = (checked(storage), signs)
    if key not in _connected:
        opener = _OPENERS[storage.partition("://")[0].partition("+")[0]]
        with _reaching(storage), _experimental():
            found = opener(storage, signs, create)
        if found is None:
            return None
        _connected[key] = found
    return _connected[key]


def create_study(storage: "BaseStorage", name: str, **options: Any) -> "optuna.Study":
    """Begin a study, or open it; several processes may do so at once."""
    import optuna

    with _experimental():
        return optuna.create_study(
            study_name=name, storage=storage, load_if_exists=True, direction="minimize", **options
        )


def load_study(storage: "BaseStorage | None", name: str, **options: Any) -> "optuna.Study | None":
    """Open a study if it is there."""
    import optuna

    if storage is None:
        return None
    try:
        return optuna.load_study(study_name=name, storage=storage, **options)
    except KeyError:
        return None


def storage_of(study: "optuna.Study") -> "BaseStorage":
    """The storage of a study, which alone changes states of trials; Optuna hides it."""
    return study._storage


@contextmanager
def _experimental() -> Iterator[None]:
    """Storages and heartbeats that Optuna calls experimental, without being told so."""
    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        yield


def disconnect() -> None:
    """Close what this process has open; it is opened again when it is needed."""
    for storage in _connected.values():
        engine = getattr(getattr(storage, "_backend", None), "engine", None)
        if engine is not None:
            engine.dispose()
        elif hasattr(storage, "close"):
            storage.close()
    _connected.clear()


atexit.register(disconnect)


# -- one opener for each kind ----------------------------------------------------------------------


def _journal(file: Path) -> "BaseStorage":
    """A journal in a file, which other processes may write to at the same time.

    They must agree on who writes: on a network file system `runtime.file_lock` says when they do.
    """
    from optuna.storages import JournalStorage

    file.parent.mkdir(parents=True, exist_ok=True)
    journal = StudyJournal(file)
    try:
        return JournalStorage(journal)  # type: ignore[arg-type]
    except DamagedFileError:
        raise
    except _UNREADABLE as error:
        raise DamagedFileError(f"{file} is no journal of studies: {error!r}") from error


def _redis(storage: str, signs: Signs, create: bool) -> "BaseStorage":
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalRedisBackend

    redis = require("redis", "storage", purpose="a storage in Redis")
    client = redis.Redis.from_url(storage, socket_connect_timeout=_PATIENCE)
    client.ping()
    client.close()
    return JournalStorage(JournalRedisBackend(storage))


def _proxy(storage: str, signs: Signs, create: bool) -> "BaseStorage":
    import optuna

    purpose = "a storage behind a gRPC proxy"
    grpc = require("grpc", "storage", purpose=purpose)
    require("google.protobuf", "storage", purpose=purpose)
    if not hasattr(optuna.storages, "GrpcStorageProxy"):
        raise ImportError(f"{purpose} needs Optuna 4.2 or newer, got {optuna.__version__}")
    host, port = _host_and_port(storage)
    with grpc.insecure_channel(f"{host}:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_PATIENCE)
        except grpc.FutureTimeoutError:
            raise ConnectionError(f"no answer in {_PATIENCE:.0f} s") from None
    return optuna.storages.GrpcStorageProxy(host=host, port=port)


def _database(storage: str, signs: Signs, create: bool) -> "BaseStorage | None":
    """A relational database, with Optuna's heartbeat."""
    require("sqlalchemy", "search", purpose="a storage in a database")
    import sqlalchemy
    from optuna.storages import RDBStorage, get_storage

    url = _with_driver(sqlalchemy.make_url(storage))
    is_sqlite = url.get_backend_name() == "sqlite"
    if is_sqlite and not create and not Path(url.database or "").exists():
        return None  # to connect would make the file
    options: dict[str, Any] = {"pool_pre_ping": True}  # trials are long, connections are dropped
    if is_sqlite:
        options["connect_args"] = {"timeout": 60}
    elif url.get_backend_name() == "postgresql":
        options["connect_args"] = {"connect_timeout": int(_PATIENCE)}
    engine = sqlalchemy.create_engine(url, **options)
    try:
        with engine.connect() as connection:
            if not create and not sqlalchemy.inspect(connection).has_table("studies"):
                return None
    finally:
        engine.dispose()
    database = _settled(lambda: RDBStorage(
        url.render_as_string(hide_password=False), engine_kwargs=dict(options),
        heartbeat_interval=signs.whole_interval, grace_period=signs.whole_grace,
    ))  # fmt: skip
    if is_sqlite:
        _serialise(database.engine)
    return get_storage(database)


def _with_driver(url: Any) -> Any:
    """The URL with the driver that we install, where it names none."""
    if url.drivername in ("postgresql", "postgres"):
        require("psycopg", "storage", purpose="a storage in PostgreSQL")
        return url.set(drivername="postgresql+psycopg")
    if url.drivername == "mysql":
        if find_spec("pymysql") is None:
            raise ModuleNotFoundError(
                "a storage in MySQL needs PyMySQL; install it with: pip install pymysql"
            )
        return url.set(drivername="mysql+pymysql")
    return url


def _settled(connect: Callable[[], Any]) -> Any:
    """Connect; where another process makes the same tables just now, once they are made.

    Of processes that make a table together, one succeeds and the others fail. Once all tables are
    there nobody makes any, so whoever failed tries again.
    """
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import DBAPIError

    end, pause = time.monotonic() + _SETTLING, 0.05
    while True:
        try:
            return connect()
        except (DBAPIError, StorageInternalError) as error:
            if time.monotonic() > end or not _is_about_tables(error.__cause__ or error):
                raise
            time.sleep(pause * (0.5 + random.random()))
            pause = min(2 * pause, 2.0)


def _is_about_tables(error: BaseException) -> bool:
    """Whether an error may come of tables that another process makes at this moment."""
    text = str(error).lower()
    return any(word in text for word in ("exist", "unique", "duplicate", "locked", "deadlock"))


def _serialise(engine: Any) -> None:
    """Make every transaction of SQLite exclusive from its first statement on.

    SQLite has no locks of rows: without this, two processes may read that a trial is waiting, and
    both claim it.
    """
    from sqlalchemy import event

    @event.listens_for(engine, "connect")
    def _leave_begin_to_us(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    engine.dispose()  # connections from before


_OPENERS: dict[str, Callable[[str, Signs, bool], Any]] = {
    "sqlite": _database,
    "postgresql": _database,
    "postgres": _database,
    "mysql": _database,
    "redis": _redis,
    "rediss": _redis,
    "grpc": _proxy,
}
