"""Eight float32 numbers, or eight counts, as one value inside kernels.

For loops whose sums must stay in vector registers from one time step to the next, which LLVM's own
vectoriser does not find. LLVM splits the vectors where a machine's registers are shorter.
"""

from collections.abc import Callable
from typing import Any

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

LANES = 8
_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_COUNTS = ir.VectorType(ir.IntType(32), LANES)
_ALIGNED = 4  # bytes: vectors begin at any element


class _Floats(types.Type):
    def __init__(self) -> None:
        super().__init__(name="EightFloats")


class _Counts(types.Type):
    def __init__(self) -> None:
        super().__init__(name="EightCounts")


_floats, _counts = _Floats(), _Counts()


@register_model(_Floats)
class _FloatsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _FLOATS)


@register_model(_Counts)
class _CountsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _COUNTS)


def _place(
    context: Any, builder: Any, signature: Any, arguments: Any, vector: ir.VectorType
) -> Any:
    """Pointer to the vector that begins at an element of a one-dimensional array."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    element = builder.gep(array.data, [arguments[1]])
    return builder.bitcast(element, vector.as_pointer())


def _reads(vector: ir.VectorType) -> Any:
    """Code that reads a vector from an array at an index."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.load(_place(context, builder, signature, arguments, vector), align=_ALIGNED)

    return codegen


def _writes(vector: ir.VectorType) -> Any:
    """Code that writes a vector to an array at an index."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, signature, arguments, vector)
        builder.store(arguments[2], place, align=_ALIGNED)
        return context.get_dummy_value()

    return codegen


@intrinsic
def load(typing_context: Any, array: Any, i: Any) -> Any:
    """Floats ``array[i : i + 8]``; the array is contiguous."""
    return _floats(array, types.intp), _reads(_FLOATS)


@intrinsic
def store(typing_context: Any, array: Any, i: Any, floats: Any) -> Any:
    """Write floats to ``array[i : i + 8]``."""
    return types.void(array, types.intp, _floats), _writes(_FLOATS)


@intrinsic
def load_counts(typing_context: Any, array: Any, i: Any) -> Any:
    """Counts ``array[i : i + 8]`` of an array of int32."""
    return _counts(array, types.intp), _reads(_COUNTS)


@intrinsic
def store_counts(typing_context: Any, array: Any, i: Any, counts: Any) -> Any:
    """Write counts to ``array[i : i + 8]``."""
    return types.void(array, types.intp, _counts), _writes(_COUNTS)


@intrinsic
def splat(typing_context: Any, number: Any) -> Any:
    """The same float32 in every lane."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        zero = ir.Constant(ir.IntType(32), 0)
        single = builder.insert_element(ir.Constant(_FLOATS, ir.Undefined), arguments[0], zero)
        mask = ir.Constant(_COUNTS, [0] * LANES)
        return builder.shuffle_vector(single, ir.Constant(_FLOATS, ir.Undefined), mask)

    return _floats(types.float32), codegen


def _of_floats(count: int, result: Any, emit: Callable[..., Any]) -> Any:
    """Make an intrinsic of `count` vectors of floats; `emit` gets the builder and the vectors."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return emit(builder, *arguments)

    if count == 2:

        @intrinsic
        def two(typing_context: Any, a: Any, b: Any) -> Any:
            return result(_floats, _floats), codegen

        return two

    @intrinsic
    def three(typing_context: Any, a: Any, b: Any, c: Any) -> Any:
        return result(_floats, _floats, _floats), codegen

    return three


def _multiply_add(builder: Any, a: Any, b: Any, c: Any) -> Any:
    kind = ir.FunctionType(_FLOATS, [_FLOATS] * 3)
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.fmuladd.v8f32")
    return builder.call(function, [a, b, c])


def _chosen(comparison: str) -> Callable[..., Any]:
    def emit(builder: Any, a: Any, b: Any) -> Any:
        return builder.select(builder.fcmp_ordered(comparison, a, b), a, b)

    return emit


def _add_where_equal(builder: Any, total: Any, a: Any, b: Any) -> Any:
    nothing = ir.Constant(_FLOATS, [0.0] * LANES)
    return builder.fadd(total, builder.select(builder.fcmp_ordered("==", a, b), a, nothing))


multiply = _of_floats(2, _floats, lambda builder, a, b: builder.fmul(a, b))
add = _of_floats(2, _floats, lambda builder, a, b: builder.fadd(a, b))
subtract = _of_floats(2, _floats, lambda builder, a, b: builder.fsub(a, b))
multiply_add = _of_floats(3, _floats, _multiply_add)  # a b + c
multiply_subtract = _of_floats(  # c - a b
    3, _floats, lambda builder, a, b, c: _multiply_add(builder, builder.fneg(a), b, c)
)
larger = _of_floats(2, _floats, _chosen(">"))
smaller = _of_floats(2, _floats, _chosen("<"))
add_where_equal = _of_floats(3, _floats, _add_where_equal)  # total + a where a == b


def _counting(comparison: str) -> Any:
    """Make ``count(counts, a, b)``: one more in the lanes where a compares to b."""

    @intrinsic
    def count(typing_context: Any, counts: Any, a: Any, b: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            before, a, b = arguments
            holds = builder.fcmp_ordered(comparison, a, b)
            return builder.sub(before, builder.sext(holds, _COUNTS))

        return _counts(_counts, _floats, _floats), codegen

    return count


count_above, count_equal = _counting(">"), _counting("==")
