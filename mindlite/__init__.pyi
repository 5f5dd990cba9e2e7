"""The public names, which `__init__.py` looks up when they are first used, for who reads types.

tests/test_annotations.py compares this file with the tables there.
"""
from . import (
    amp as amp, backend as backend, boost as boost, cli as cli, common as common, communication as communication,
    compile as compile,
    dataset as dataset, debug as debug, functional as functional, mindir as mindir, mindrecord as mindrecord, mint as mint,
    nn as nn, numpy as numpy, ops as ops, parallel as parallel, pynative as pynative,
    rewrite as rewrite, train as train)
from .common.config import GRAPH_MODE as GRAPH_MODE, PYNATIVE_MODE as PYNATIVE_MODE, STRICT as STRICT, LAX as LAX
from .common.declared import Symbol as Symbol
from .common.dtype import (
    bool_ as bool_, uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64, int4 as int4, int8 as int8,
    int16 as int16, int32 as int32, int64 as int64, float8_e4m3fn as float8_e4m3fn, float8_e5m2 as float8_e5m2,
    float16 as float16, bfloat16 as bfloat16, float32 as float32, float64 as float64, complex64 as complex64,
    complex128 as complex128, float32 as float_, int64 as int_)
from .common.errors import (
    MindliteError as MindliteError, ShapeError as ShapeError, DTypeError as DTypeError, ArgumentError as ArgumentError,
    GradientError as GradientError, GraphSyntaxError as GraphSyntaxError)
from .common.seed import set_seed as set_seed, get_seed as get_seed
from .common.tensor import Tensor as Tensor, Parameter as Parameter, ParameterTuple as ParameterTuple, Tensor as tensor
from .functional import (
    jit as jit, jit_class as jit_class, ms_function as ms_function, JitConfig as JitConfig, grad as grad,
    value_and_grad as value_and_grad, get_grad as get_grad, GradOperation as GradOperation, jvp as jvp, vjp as vjp,
    linearize as linearize, jacfwd as jacfwd, jacrev as jacrev, vmap as vmap, recompute as recompute, no_grad as no_grad,
    data_sink as data_sink, set_context as set_context, get_context as get_context, set_device as set_device,
    set_deterministic as set_deterministic, mutable as mutable, set_auto_parallel_context as set_auto_parallel_context,
    get_auto_parallel_context as get_auto_parallel_context, reset_auto_parallel_context as reset_auto_parallel_context,
    ParallelMode as ParallelMode, shard as shard, enable_dynamic as enable_dynamic)
from .ops.sparse import COOTensor as COOTensor, CSRTensor as CSRTensor, RowTensor as RowTensor
from .train import (
    export as export, load as load, save_checkpoint as save_checkpoint, load_checkpoint as load_checkpoint,
    load_param_into_net as load_param_into_net, Model as Model)
from .common import dtype as dtype
from .functional import context as context

__version__: str
