"""Networks in files.

    export(net, x, file_name="net", file_format="MINDIR")          net.mindir (mindir/file.py says what is in it)
    net = nn.GraphCell(load("net.mindir"));  net(x)                the same network, without its Python
"""
import os

from ..common.errors import ArgumentError, FileFormatError, ValueRangeError
from ..mindir.file import read_file, write_file
from .export import module_of, with_exceptions

SUFFIX = ".mindir"


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
