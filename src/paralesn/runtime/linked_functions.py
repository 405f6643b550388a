"""Functions that only kernels call: compiled as far as a kernel needs them, and no further.

Numba optimises every function and writes its machine code, although a function that is called by
compiled code alone is linked into its callers, optimised there once more, and never run by itself.
Here such functions stay as they were lowered, and LLVM first sees them inside the kernel: this
halves the compilation of a kernel made of many of them, and its loops are vectorised with what the
kernel knows about them. Numba offers no public way: with one that lacks the parts this needs,
`compiler_class` is None, and functions are compiled as Numba does.
"""

from functools import cache
from typing import Any


@cache
def compiler_class() -> Any:
    """Numba's compiler for functions that are linked into kernels, or None for the usual one."""
    try:
        from numba.core.codegen import JITCodeLibrary
        from numba.core.compiler import CompilerBase, DefaultPassBuilder

        for name in (
            "_ensure_finalized", "_finalize_dynamic_globals", "_finalize_final_module",
            "_get_module_for_linking", "_optimize_final_module", "get_pointer_to_function",
        ):  # fmt: skip
            getattr(JITCodeLibrary, name)
    except (AttributeError, ImportError):
        return None

    class WithoutEnvironment:
        """A code generator for which functions that are never run need no environment."""

        def __init__(self, codegen: Any) -> None:
            self._codegen = codegen

        def __getattr__(self, name: str) -> Any:
            return getattr(self._codegen, name)

        def set_env(self, *arguments: Any) -> None:
            """Do nothing: there is no machine code whose environment could be set."""

    class LinkedLibrary(JITCodeLibrary):
        """Code to link into that of kernels: not optimised, without machine code."""

        @property
        def codegen(self) -> Any:
            return WithoutEnvironment(self._codegen)

        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            """Nothing can be called from outside: a null pointer, as for any unknown name."""
            self._ensure_finalized()
            return 0

    class LinkedCompiler(CompilerBase):
        """The usual passes, whose result goes to a library to link."""

        def define_pipelines(self) -> Any:
            state = self.state
            state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            return [DefaultPassBuilder.define_nopython_pipeline(state)]

    return LinkedCompiler
