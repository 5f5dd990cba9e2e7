"""mindlite: a deep-learning framework that you can read, with MindSpore 2.x's programming model.

    import mindlite as ms
    from mindlite import nn, ops, Tensor

Names are looked up when they are first used, so that importing the package costs little.
"""
import importlib
import sys
import types

__version__ = "0.1.0"

_ROOMS = ("amp", "backend", "boost", "cli", "common", "communication", "compile", "dataset", "debug", "functional",
          "mindir", "mindrecord", "mint", "nn", "numpy", "ops", "parallel", "pynative", "rewrite", "train")
_DTYPES = ("bool_", "uint8", "uint16", "uint32", "uint64", "int4", "int8", "int16", "int32", "int64", "float8_e4m3fn",
           "float8_e5m2", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
_HOME = {
    **dict.fromkeys(_DTYPES, "common.dtype"),
    **dict.fromkeys(("GRAPH_MODE", "PYNATIVE_MODE", "STRICT", "LAX"), "common.config"),
    **dict.fromkeys(("set_seed", "get_seed"), "common.seed"),
    **dict.fromkeys(("MindliteError", "ShapeError", "DTypeError", "ArgumentError", "GradientError", "GraphSyntaxError"),
                    "common.errors"),
    "Symbol": "common.declared",
    **dict.fromkeys(("export", "load", "save_checkpoint", "load_checkpoint", "load_param_into_net", "Model"), "train"),
    **dict.fromkeys(("Tensor", "Parameter", "ParameterTuple"), "common.tensor"),
    **dict.fromkeys(("COOTensor", "CSRTensor", "RowTensor"), "ops.sparse"),
    **dict.fromkeys(("jit", "jit_class", "ms_function", "JitConfig", "enable_dynamic", "grad", "value_and_grad", "get_grad",
                     "GradOperation", "jvp", "vjp", "linearize", "jacfwd", "jacrev", "vmap", "recompute",
                     "no_grad", "data_sink", "set_context",
                     "get_context", "set_device",
                     "set_deterministic", "mutable", "set_auto_parallel_context", "get_auto_parallel_context",
                     "reset_auto_parallel_context", "ParallelMode", "shard"), "functional"),
}
_OTHER_NAMES = {
    "tensor": ("common.tensor", "Tensor"), "dtype": ("common.dtype", None), "context": ("functional.context", None),
    "float_": ("common.dtype", "float32"), "int_": ("common.dtype", "int64"),
}
_EAGER = ("common.tensor", "dataset", "ops", "ops.sparse")  # who makes Tensors computes with them: eager mode comes along
__all__ = ["__version__", *_ROOMS, *_HOME, *_OTHER_NAMES]


def __getattr__(name):
    if name in _ROOMS:
        home, what = name, None
    elif name in _OTHER_NAMES:
        home, what = _OTHER_NAMES[name]
    elif name in _HOME:
        home, what = _HOME[name], name
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if home in _EAGER:
        importlib.import_module(".functional", __name__)
    found = importlib.import_module("." + home, __name__)
    if what is not None:
        found = getattr(found, what)
    globals()[name] = found
    return found


def __dir__():
    return sorted({*globals(), *__all__})


class _Package(types.ModuleType):
    """This package, in which `vmap` is the function although a room has that name: importing the room hides nothing."""

    @property
    def vmap(self):
        """mindlite.functional.vmap"""
        return importlib.import_module(".functional", __name__).vmap

    @vmap.setter
    def vmap(self, room):
        pass                                     # what the import system does after loading the room

    @property
    def ad(self):
        """The room mindlite.ad, with `ad.source`, which debug puts there."""
        importlib.import_module(".debug", __name__)
        return importlib.import_module(".ad", __name__)

    @ad.setter
    def ad(self, room):
        pass


sys.modules[__name__].__class__ = _Package
