"""The operators themselves, by name, as generated code imports them: they take Tensors and every attribute by keyword.

    from mindlite.ops.primitives import reduce_sum, tanh             reduce_sum(tanh(x), axis=(0,), keepdims=False)

`mindlite.ops` has functions for people, with defaults and conversions; some have the name of the operator they call.
"""
from ..mindir.primitive import HOMES, PRIMITIVES, find_primitive


def __getattr__(name):
    if name in PRIMITIVES or name in HOMES:
        return find_primitive(name)
    raise AttributeError(f"there is no operator {name!r}")


def __dir__():
    return sorted({*PRIMITIVES, *HOMES})
