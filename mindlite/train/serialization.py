"""Networks in files.

    export(net, x, file_name="net", file_format="MINDIR")          net.mindir (mindir/file.py says what is in it)
    net = nn.GraphCell(load("net.mindir"));  net(x)                the same network, without its Python
    save_checkpoint(net, "net.ckpt", append_dict={"epoch": 3})     Parameters by name, as MindSpore reads and writes them
    load_param_into_net(net, load_checkpoint("net.ckpt"))
"""
import os
import warnings

import numpy as np

from ..common.errors import ArgumentError, FileFormatError, ShapeError, ValueRangeError
from ..common.files import replacing
from ..common.tensor import Parameter, Tensor
from ..mindir.file import read_file, write_file
from .checkpoint import read_ckpt, read_safetensors, write_ckpt, write_safetensors
from .export import module_of, with_exceptions

SUFFIX = ".mindir"
FORMATS = {"ckpt": (write_ckpt, read_ckpt), "safetensors": (write_safetensors, read_safetensors)}


def export(net, *inputs, file_name, file_format="MINDIR"):
    """Write `net`, a Cell or function, as the typed graph that it is for arguments like `inputs`.

    inputs      : Tensors, or tuples, lists and dicts of them; Tensor(shape=[None, 3], dtype=..) stands for any size there.
                  Numbers, strings and None are constants of the graph
    file_name   : where to; ".mindir" is added if it is not there. A Cell is written as it is with set_train(False)
    file_format : "MINDIR"
    raises      : ValueRangeError for another format, ArgumentError for what is no network; GraphSyntaxError for what a file
                  cannot hold; the network's own errors
    """
    if file_format != "MINDIR":
        raise ValueRangeError(f"export: there is no file_format {file_format!r}", hint="MINDIR")
    if not callable(net):
        raise ArgumentError(f"export: takes a Cell or a function, not {type(net).__name__}")
    name = getattr(net, "__name__", type(net).__name__)
    training = [(cell, cell.training) for _, cell in net.cells_and_names()] if hasattr(net, "cells_and_names") else []
    for cell, _ in training:
        cell.add_flags(training=False)
    try:
        module = module_of(net, inputs, name)
    finally:
        for cell, mode in training:
            cell.add_flags(training=mode)
    path = os.fspath(file_name)
    write_file(path if path.endswith(SUFFIX) else path + SUFFIX, module)


def load(file_name):
    """The graph in a .mindir file, for `nn.GraphCell`.

    raises : ValueRangeError where there is no such file, FileFormatError where it is damaged or none of its kind
    """
    path = os.fspath(file_name)
    if not os.path.isfile(path):
        raise ValueRangeError(f"load: there is no file {path}")
    try:
        return with_exceptions(read_file(path))
    except FileFormatError:
        raise
    except ValueError as error:
        raise FileFormatError(f"{path} is damaged: {error}") from None


# ---------------------------------------------------------------- checkpoints

def save_checkpoint(save_obj, ckpt_file_name, integrated_save=True, async_save=False, append_dict=None, enc_key=None,
                    enc_mode="AES-GCM", choice_func=None, crc_check=False, format="ckpt"):
    """Write the Parameters of a Cell, or Tensors by name, to a file.

    save_obj       : a Cell, {name: Tensor or Parameter}, or [{"name": .., "data": Tensor}, ..]
    append_dict    : {name: number, bool, string or Tensor} that are written too
    choice_func    : a function of a name: what it is false for is left out
    crc_check      : write a check sum, which `load_checkpoint(crc_check=True)` looks at
    format         : "ckpt" or "safetensors"; the file's name gets that ending if it has none of the two
    integrated_save, async_save: MindSpore's; the file is complete when the function returns
    raises         : ArgumentError for what holds no Tensors; ValueRangeError for another format, or encryption
    """
    if enc_key is not None:
        raise ValueRangeError("save_checkpoint: files are not encrypted", hint="leave out enc_key")
    values = {}
    for name, value in [*tensors_of(save_obj), *(append_dict or {}).items()]:
        if choice_func is not None and not choice_func(name):
            continue
        if not isinstance(value, (Tensor, np.ndarray, bool, int, float, str)):
            raise ArgumentError(f"save_checkpoint: {name!r} is a {type(value).__name__}, no Tensor, number or string")
        values[name] = value if isinstance(value, str) else (
            value if isinstance(value, Tensor) else Tensor(value)).init_data().host_array
    write, _ = _format("save_checkpoint", format)
    path = os.fspath(ckpt_file_name)
    path = path if path.endswith((".ckpt", ".safetensors")) else f"{path}.{format}"
    with replacing(path) as stream:
        write(stream, values, crc_check)


def tensors_of(save_obj):
    """[(name, Tensor)] of what `save_checkpoint` takes. raises : ArgumentError"""
    if hasattr(save_obj, "parameters_and_names"):
        return [(parameter.name, parameter) for _, parameter in save_obj.parameters_and_names()]
    if isinstance(save_obj, dict):
        return list(save_obj.items())
    if isinstance(save_obj, list) and all(isinstance(d, dict) and {"name", "data"} <= d.keys() for d in save_obj):
        return [(d["name"], d["data"]) for d in save_obj]
    raise ArgumentError("save_checkpoint: takes a Cell, a dict of Tensors, or a list of {'name': .., 'data': ..}, "
                        f"not {type(save_obj).__name__}")


def _format(what, name):
    if name not in FORMATS:
        raise ValueRangeError(f"{what}: there is no format {name!r}", hint="ckpt or safetensors")
    return FORMATS[name]


def load_checkpoint(ckpt_file_name, net=None, strict_load=False, filter_prefix=None, dec_key=None, dec_mode="AES-GCM",
                    specify_prefix=None, choice_func=None, crc_check=False, remove_redundancy=False, format="ckpt"):
    """{name: Parameter, or string} of a file that `save_checkpoint`, or MindSpore, wrote.

    net            : a Cell that the Parameters are loaded into, see `load_param_into_net` (strict_load is its)
    filter_prefix, specify_prefix: names that begin so (a string or several) are left out, or are the only ones
    choice_func    : a function of a name: what it is false for is left out
    raises         : ValueRangeError where there is no such file, or nothing is left of it; FileFormatError where it is
                     damaged, or (crc_check) its check sum is another one
    """
    path = os.fspath(ckpt_file_name)
    if dec_key is not None:
        raise ValueRangeError("load_checkpoint: files are not encrypted", hint="leave out dec_key")
    if not os.path.isfile(path):
        raise ValueRangeError(f"load_checkpoint: the file {path} does not exist")
    _, read = _format("load_checkpoint", "safetensors" if path.endswith(".safetensors") else format)
    with open(path, "rb") as stream:
        values = read(stream.read(), path, crc_check)
    left_out, wanted = [(p,) if isinstance(p, str) else tuple(p or ()) for p in (filter_prefix, specify_prefix)]
    found = {name: value if isinstance(value, str) else Parameter(Tensor(value), name=name)
             for name, value in values.items() if not name.startswith(left_out) and (not wanted or name.startswith(wanted))
             and (choice_func is None or choice_func(name))}
    if not found:
        raise ValueRangeError(f"load_checkpoint: nothing of {path} is left to load")
    if net is not None:
        load_param_into_net(net, found, strict_load)
    return found


def load_param_into_net(net, parameter_dict, strict_load=False, remove_redundancy=False):
    """Give the Parameters of a Cell the values in a dict of Parameters by name.

    strict_load : element types must be the same; else floats are cast to each other
    result      : (names of the net's Parameters that got nothing, names in the dict that the net does not have)
    raises      : ArgumentError for what is no Cell or no dict; ShapeError for a value of another shape or element type
    """
    if not hasattr(net, "parameters_and_names") or not isinstance(parameter_dict, dict):
        raise ArgumentError(f"load_param_into_net: takes a Cell and a dict, not {type(net).__name__} and "
                            f"{type(parameter_dict).__name__}")
    missing, used, pairs = [], set(), []
    for _, parameter in net.parameters_and_names():
        given = parameter_dict.get(parameter.name)
        if given is None:
            missing.append(parameter.name)
            continue
        if not isinstance(given, Tensor):
            raise ArgumentError(f"load_param_into_net: {parameter.name!r} is a {type(given).__name__}, no Parameter")
        kinds = parameter.dtype, given.dtype
        castable = not strict_load and all(kind.kind == "f" for kind in kinds)
        if tuple(given.shape) != tuple(parameter.shape) or kinds[0] is not kinds[1] and not castable:
            raise ShapeError(f"load_param_into_net: the Parameter {parameter.name!r} is of another shape or element type",
                             note=f"{kinds[0].short}{list(parameter.shape)}, given: {kinds[1].short}{list(given.shape)}")
        used.add(parameter.name)
        pairs.append((parameter, given))
    for parameter, given in pairs:                           # all or none
        parameter.set_data(Tensor(given, parameter.dtype))
    if missing:
        warnings.warn(f"load_param_into_net: {len(missing)} Parameter(s) got no value: {', '.join(missing[:5])}", stacklevel=2)
    return missing, [name for name in parameter_dict if name not in used]
