"""The text of a kernel, run as Python: the reference for its machine code; and the assembly of LLVM IR."""
import math

import numpy as np

from mindlite.backend import object_code
from mindlite.backend.kernel_cache import request
from mindlite.backend.printers.python_source import function_name, python_source
from mindlite.common import dtype as dt
from mindlite.common.dim import evaluate, product


def assembly(text):
    """The assembly of a kernel's LLVM IR, to be read."""
    with object_code.lock:
        machine, module = object_code.optimised(**request(text))
        return machine.emit_assembly(module)


def _scalar(dtype):
    """Conversion of a number to the register form of `dtype`: narrow floats are float32 numbers that are rounded."""
    if dtype.is_small:
        return lambda x: dtype.compute.numpy.type(np.asarray(x).astype(dtype.numpy))
    return lambda x: np.asarray(x).astype(dtype.numpy)[()]


def _namespace():
    names = {d.name: _scalar(d) for d in dt.ALL}
    for name in ("exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "cbrt", "sin", "cos", "tan", "sinh",
                 "cosh", "tanh", "floor", "ceil", "trunc", "sign", "isnan", "isinf", "isfinite", "fmod", "hypot",
                 "copysign", "maximum", "minimum"):
        names[name] = getattr(np, name)
    names |= {"asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
              "atanh": np.arctanh, "atan2": np.arctan2, "pow": np.power, "round": np.rint, "abs": np.abs,
              "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: type(x)(1) / (type(x)(1) + np.exp(-x)),
              "erf": lambda x: type(x)(math.erf(x)), "erfc": lambda x: type(x)(math.erfc(x)),
              "normal_cdf": lambda x: type(x)(math.erfc(-x * math.sqrt(0.5)) / 2),
              "normal_pdf": lambda x: type(x)(math.exp(-x * x / 2) / math.sqrt(2 * math.pi)),
              "lgamma": lambda x: type(x)(math.lgamma(x)), "gamma": lambda x: type(x)(math.gamma(x)),
              "inf": math.inf, "nan": math.nan, "where": lambda condition, a, b: a if condition else b, "full": np.full,
              "exceeds": lambda x, held: (x > held or x != x) and held == held,
              "undercuts": lambda x, held: (x < held or x != x) and held == held}
    return names


def run_source(nest, *inputs, sizes=None):
    """Execute the text of a scheduled LoopNest on NumPy arrays and numbers; a tuple of arrays, one per output.

    sizes: {Symbol: int} for the caller's symbols
    """
    env = sizes or {}
    namespace = _namespace()
    text = python_source(nest)
    exec(compile(text, "<kernel>", "exec"), namespace)
    shapes = [tuple(evaluate(s, env) for s in o.operand.shape) for o in nest.outputs]
    outs = [np.empty(product(shape), o.operand.dtype.numpy) for shape, o in zip(shapes, nest.outputs)]
    flat = [x.reshape(-1) if isinstance(x, np.ndarray) else x for x in inputs]
    function = namespace[function_name(nest)]
    with np.errstate(all="ignore"):
        function(*flat, *outs, *(evaluate(v, env) for v in nest.sizes.values()), 0, evaluate(nest.extent, env))
    return tuple(out.reshape(shape) for out, shape in zip(outs, shapes))
