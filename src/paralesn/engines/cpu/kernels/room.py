"""Arrays made inside kernels; `numpy.zeros` there takes a quarter of a second to compile."""

from typing import Any

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from paralesn.runtime.compiler import called

_LINE = 64  # bytes of a cache line: vectors as long as one never straddle two


@intrinsic
def empty_rows(typing_context: Any, like: Any, rows: Any, columns: Any) -> Any:
    """An array (rows, columns), uninitialised, of the type of the elements of the array `like`."""
    made = types.Array(like.dtype, 2, "C")

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, rows, columns = arguments
        size = context.get_abi_sizeof(context.get_data_type(made.dtype))
        itemsize = context.get_constant(types.intp, size)
        row = builder.mul(columns, itemsize)
        meminfo = context.nrt.meminfo_alloc_aligned(
            builder, builder.mul(rows, row), context.get_constant(types.uint32, _LINE)
        )
        data = context.nrt.meminfo_data(builder, meminfo)
        array = make_array(made)(context, builder)
        populate_array(
            array,
            data=builder.bitcast(data, context.get_data_type(made.dtype).as_pointer()),
            shape=cgutils.pack_array(builder, [rows, columns]),
            strides=cgutils.pack_array(builder, [row, itemsize]),
            itemsize=itemsize,
            meminfo=meminfo,
        )
        return array._getvalue()

    return made(like, types.intp, types.intp), codegen


@called
def clear(rows):
    """Set all rows to zero."""
    for r in range(rows.shape[0]):
        for c in range(rows.shape[1]):
            rows[r, c] = 0
