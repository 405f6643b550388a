"""The door to whoever carries out calls: this process, processes beside it, or a Dask cluster.

Results come as they are done, each with the number of its call, whoever carries them out. Workers
only return results: whoever asked keeps them. A worker that is killed costs the call at hand, which
is done again. A call that fails lets those under way end first; their results come before its
error.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any

from paralesn.paper import process_pool
from paralesn.paper.dask_cluster import Cluster

Call = tuple[Any, ...]


def each(
    function: Callable[..., Any],
    calls: Iterable[Call],
    jobs: int,
    prepare: Callable[[], Any] | None = None,
    *,
    cluster: Cluster | None = None,
    names: Sequence[str] | None = None,
) -> Generator[tuple[int, Any]]:
    """Call a function with each of the arguments; its results as they come, with their number.

    Parameters
    ----------
    function : function
        Known to workers by its module and name.
    calls : iterable of tuples
        Its arguments.
    jobs : int
        Processes to begin; 0 for this process alone.
    prepare : function, optional
        Called in each process before any call; in a cluster it may be called repeatedly.
    cluster : Cluster, optional
        Carries out the calls instead of `jobs` processes.
    names : sequence of str, optional
        What errors call each call. In a cluster they must tell calls apart: equal names of several
        clients stand for one call, whose result all of them get.

    Raises
    ------
    paralesn.paper.process_pool.KilledError
        For calls that killed every worker that tried them, after all others are done.
    """
    calls = list(calls)
    names = [f"call {number}" for number in range(len(calls))] if names is None else list(names)
    if cluster is not None:
        return cluster.each(function, calls, prepare, names)
    if jobs == 0:
        return _here(function, calls, prepare, names)
    return process_pool.each(function, calls, jobs, prepare, names)


def _here(
    function: Callable[..., Any],
    calls: Sequence[Call],
    prepare: Callable[[], Any] | None,
    names: Sequence[str],
) -> Generator[tuple[int, Any]]:
    """One call after the other, in this process."""
    if prepare is not None:
        prepare()
    for number, call in enumerate(calls):
        try:
            result = function(*call)
        except Exception as error:
            error.add_note(f"while doing {names[number]}")
            raise
        yield number, result
