"""How a kernel with an extent is run: `launch(kernel, args, extent, cost)`, called by address from every printer.

    int64_t launch(kernel, int64_t *args, int64_t extent, int64_t cost)        the kernel's status

Sequential: one chunk [0, extent).
"""
import functools

from .machine_code import compile_ir

_TEXT = """
define i64 @launch(ptr %kernel, ptr %args, i64 %extent, i64 %cost) {
  %status = tail call i64 %kernel(ptr %args, i64 0, i64 %extent)
  ret i64 %status
}
"""


@functools.lru_cache(maxsize=None)
def _code():
    return compile_ir(_TEXT, keep=True, name="launcher")


@functools.lru_cache(maxsize=None)
def launch_address():
    """The address of `launch`."""
    return _code().address("launch")
