"""Estimators on Dask: fitted to data in blocks, on the cores of one machine or on many machines.

Needs the extra ``dask``: ``pip install 'paralesn[dask]'``. The estimators are the ordinary ones;
`fit` returns one that is fitted, `predict` and `transform` apply one.
"""

from paralesn.files import require

require("dask", "dask", purpose="paralesn.dask")

from paralesn.dask.applying import predict, transform  # noqa: E402
from paralesn.dask.fitting import fit  # noqa: E402

__all__ = ["fit", "predict", "transform"]
