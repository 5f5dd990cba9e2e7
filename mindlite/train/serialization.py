"""Networks in files.

    export(net, x, file_name="net", file_format="MINDIR")          net.mindir (mindir/file.py says what is in it)
    net = nn.GraphCell(load("net.mindir"));  net(x)                the same network, without its Python
    save_checkpoint(net, "net.ckpt", append_dict={"epoch": 3})     Parameters by name, as MindSpore reads and writes them
    load_param_into_net(net, load_checkpoint("net.ckpt"))
"""
from __future__ import annotations

import concurrent.futures
import io
import os
import re
import warnings
from typing import Any, Callable

import numpy as np

from ..common import cipher
from ..common.errors import ArgumentError, FileFormatError, MindliteError, ShapeError, ValueRangeError
from ..common.files import replacing
from ..common.tensor import Parameter, Tensor
from ..compile.module_of import module_of, with_exceptions
from ..mindir.file import read_file, write_stream
from .checkpoint import read_ckpt, read_safetensors, write_ckpt, write_safetensors

SUFFIX = ".mindir"
FORMATS = {"ckpt": (write_ckpt, read_ckpt), "safetensors": (write_safetensors, read_safetensors)}


def export(net, *inputs, file_name, file_format="MINDIR", enc_key=None, enc_mode="AES-GCM"):
    """Write `net`, a Cell or function, as the typed graph that it is for arguments like `inputs`.

    inputs      : Tensors, or tuples, lists and dicts of them; Tensor(shape=[None, 3], dtype=..) stands for any size there.
                  Numbers, strings and None are constants of the graph
    file_name   : where to; ".mindir" is added if it is not there. A Cell is written as it is with set_train(False)
    file_format : "MINDIR"
    enc_key     : 16, 24 or 32 bytes: encrypt the file;   enc_mode : "AES-GCM", "AES-CBC" or "SM4-CBC"
    raises      : ValueRangeError for another format, ArgumentError for what is no network; GraphSyntaxError for what a file
                  cannot hold; the network's own errors
    """
    if file_format != "MINDIR":
        raise ValueRangeError(f"export: there is no file_format {file_format!r}", hint="MINDIR")
    if not callable(net):
        raise ArgumentError(f"export: takes a Cell or a function, not {type(net).__name__}")
    if enc_key is not None:
        cipher.check_key("export", enc_key, enc_mode)
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
    with replacing(path if path.endswith(SUFFIX) else path + SUFFIX) as stream:
        plain = stream if enc_key is None else io.BytesIO()
        write_stream(plain, module)
        if enc_key is not None:
            stream.write(cipher.encrypt(plain.getvalue(), enc_key, enc_mode))


def load(file_name, dec_key=None, dec_mode="AES-GCM"):
    """The graph in a .mindir file, for `nn.GraphCell`.

    dec_key, dec_mode : of an encrypted file
    raises : ValueRangeError where there is no such file, FileFormatError where it is damaged, encrypted by another key, or
             none of its kind
    """
    path = os.fspath(file_name)
    if not os.path.isfile(path):
        raise ValueRangeError(f"load: there is no file {path}")
    _check_plain(path, dec_key)
    source = None if dec_key is None else io.BytesIO(_decrypted(path, dec_key, dec_mode))
    try:
        return with_exceptions(read_file(path, source))
    except FileFormatError:
        raise
    except ValueError as error:
        raise FileFormatError(f"{path} is damaged: {error}") from None


# ---------------------------------------------------------------- checkpoints

class MisfitError(ShapeError, RuntimeError):
    """A value that a Parameter cannot take."""


_beside = concurrent.futures.ThreadPoolExecutor(1, "asyn_save_ckpt")
_writing: concurrent.futures.Future | None = None    # the file that is being written beside the program


def save_checkpoint(save_obj: Any, ckpt_file_name: Any, integrated_save: bool = True, async_save: Any = False,
                    append_dict: dict | None = None, enc_key: bytes | None = None, enc_mode: str = "AES-GCM",
                    choice_func: Callable[[str], bool] | None = None, crc_check: bool = False, format: str = "ckpt",
                    **kwargs: Any) -> None:
    """Write the Parameters of a Cell, or Tensors by name, to a file; the old file stays until the new one is whole.

    save_obj       : a Cell, {name: Tensor or Parameter}, [{"name": .., "data": Tensor}, ..] or [Parameter, ..]
    append_dict    : {name: number, bool, string, Tensor or Generator} that are written too
    choice_func    : a function of a name: what it is false for is left out
    crc_check      : write a check sum, which `load_checkpoint(crc_check=True)` looks at
    format         : "ckpt" or "safetensors"; the file's name gets that ending unless it has it
    enc_key        : 16, 24 or 32 bytes: encrypt a .ckpt file;  enc_mode : "AES-GCM", "AES-CBC" or "SM4-CBC"
    async_save     : True, "thread" or "process": the values are copied, and the file is written beside what follows
                     (`wait_for_files` waits); an error of it is raised by the next save_checkpoint
    integrated_save: False: of a sharded Tensor this rank's part alone, which `transform_checkpoints` and a strategy file join
    kwargs         : MindSpore's
    raises         : ArgumentError for what holds no Tensors; ValueRangeError for another format, key or mode; OSError
    """
    if enc_key is not None:
        cipher.check_key("save_checkpoint", enc_key, enc_mode)
        if format == "safetensors":
            raise ValueRangeError("save_checkpoint: .safetensors files are not encrypted", hint='format="ckpt"')
    if async_save not in (False, True, "thread", "process"):
        raise ValueRangeError(f"save_checkpoint: async_save is a bool, 'thread' or 'process', not {async_save!r}")
    values = {}
    appended = {name: value.get_state() if hasattr(value, "get_state") else value
                for name, value in (append_dict or {}).items()}
    for name, value in [*tensors_of(save_obj), *appended.items()]:
        if not isinstance(name, str):
            raise ArgumentError(f"save_checkpoint: a name is a string, not {name!r}")
        if choice_func is not None and name not in appended and not choice_func(name):
            continue
        if not isinstance(value, (Tensor, np.ndarray, bool, int, float, str)):
            raise ArgumentError(f"save_checkpoint: {name!r} is a {type(value).__name__}, no Tensor, number or string")
        values[name] = value if isinstance(value, str) else _array_of(value, integrated_save)
    write, _ = _format("save_checkpoint", format)
    path = os.fspath(ckpt_file_name)
    path = path if path.endswith(format) else f"{path}.{format}"
    if os.path.isdir(path):
        raise FolderError(f"save_checkpoint: {path} is a folder")
    global _writing
    wait_for_files()
    if async_save:
        values = {name: value if isinstance(value, str) else np.array(value) for name, value in values.items()}
        _writing = _beside.submit(_write, path, write, values, crc_check, enc_key, enc_mode)
    else:
        _write(path, write, values, crc_check, enc_key, enc_mode)


def _array_of(value: Any, integrated: bool) -> np.ndarray:
    tensor = (value if isinstance(value, Tensor) else Tensor(value)).init_data()
    return (tensor if integrated else tensor.to_local()).asnumpy()


class FileSystem:
    """MindSpore's table of how files are opened: by Python's `open`; it is read, and changes nothing."""

    def __init__(self) -> None:
        self.create, self.create_args = open, ("ab",)
        self.open, self.open_args, self.backend = open, ("rb",), "basic"


class FolderError(MindliteError, IsADirectoryError):
    """A folder where a file is wanted."""


def _write(path: str, write: Callable, values: dict, crc: bool, key: bytes | None, mode: str) -> None:
    with replacing(path) as stream:
        if key is None:
            write(stream, values, crc)
        else:
            plain = io.BytesIO()
            write(plain, values, crc)
            stream.write(cipher.encrypt(plain.getvalue(), key, mode))


def wait_for_files() -> None:
    """Wait for the file that `save_checkpoint(async_save=True)` is writing. raises : the error that it met"""
    global _writing
    if _writing is not None:
        waiting, _writing = _writing, None
        waiting.result()


def async_ckpt_thread_status() -> bool:
    """True while a file is written beside the program."""
    return _writing is not None and not _writing.done()


def tensors_of(save_obj: Any) -> list[tuple[str, Any]]:
    """[(name, Tensor)] of what `save_checkpoint` takes. raises : ArgumentError"""
    if hasattr(save_obj, "parameters_and_names"):
        return _each_named_once([parameter for _, parameter in save_obj.parameters_and_names()])
    if isinstance(save_obj, dict):
        return list(save_obj.items())
    if isinstance(save_obj, list) and all(isinstance(p, Parameter) for p in save_obj):
        return _each_named_once(save_obj)
    if isinstance(save_obj, list) and all(isinstance(d, dict) and {"name", "data"} <= d.keys() for d in save_obj):
        for given in save_obj:
            if not isinstance(given["data"], (Tensor, np.ndarray, str)):
                raise ArgumentError(f"save_checkpoint: the data of {given['name']!r} is a {type(given['data']).__name__}, "
                                    "no Tensor or string")
        return [(d["name"], d["data"]) for d in save_obj]
    raise ArgumentError("save_checkpoint: takes a Cell, a dict of Tensors, or a list of Parameters or {'name': .., 'data': ..}, "
                        f"not {type(save_obj).__name__}")


def _each_named_once(parameters: list[Parameter]) -> list[tuple[str, Any]]:
    """[(name, Parameter)]. raises : ArgumentError for one name of two, of which a file would hold the last alone"""
    found: dict[str, Parameter] = {}
    for parameter in parameters:
        if found.setdefault(parameter.name, parameter) is not parameter:
            raise ArgumentError(f"two parameters are named {parameter.name!r}: a checkpoint would hold one of them",
                                hint="give them names, or assign the Cells that hold them to attributes")
    return list(found.items())


def _format(what: str, name: str) -> tuple[Callable, Callable]:
    if name not in FORMATS:
        raise ValueRangeError(f"{what}: there is no format {name!r}", hint="ckpt or safetensors")
    return FORMATS[name]


def load_checkpoint(ckpt_file_name: Any, net: Any = None, strict_load: bool = False, filter_prefix: Any = None,
                    dec_key: bytes | None = None, dec_mode: str = "AES-GCM", specify_prefix: Any = None,
                    choice_func: Callable[[str], bool] | None = None, crc_check: bool = False,
                    remove_redundancy: bool = False, format: str = "ckpt") -> dict[str, Any]:
    """{name: Parameter, or string} of a file that `save_checkpoint`, or MindSpore, wrote.

    net            : a Cell that the Parameters are loaded into, see `load_param_into_net` (strict_load is its)
    filter_prefix, specify_prefix: names that begin so (a string or several) are left out, or are the only ones
    choice_func    : a function of a name: what it is false for is left out
    dec_key, dec_mode : of an encrypted file
    format         : how the file's name ends; .safetensors files need not be announced
    remove_redundancy : MindSpore's, for Parameters that several devices share
    raises         : ValueRangeError where there is no such file, it ends otherwise, or nothing is left of it;
                     FileFormatError where it is damaged, encrypted by another key, or (crc_check) its check sum is another one
    """
    path = os.fspath(ckpt_file_name)
    kind = "safetensors" if path.endswith(".safetensors") else format
    _, read = _format("load_checkpoint", kind)
    if not path.endswith(kind):
        raise ValueRangeError(f"load_checkpoint: the name {path} does not end with {kind}")
    if dec_key is not None and kind == "safetensors":
        raise ValueRangeError("load_checkpoint: .safetensors files are not encrypted", hint="leave out dec_key")
    wait_for_files()
    if not os.path.isfile(path):
        raise ValueRangeError(f"load_checkpoint: the file {path} does not exist")
    values = read(_decrypted(path, dec_key, dec_mode), path, crc_check)
    left_out, wanted = _prefixes("filter_prefix", filter_prefix), _prefixes("specify_prefix", specify_prefix)
    found = {name: value if isinstance(value, str) else Parameter(Tensor(value), name=name)
             for name, value in values.items() if not name.startswith(left_out) and (not wanted or name.startswith(wanted))
             and (choice_func is None or choice_func(name))}
    if not found:
        raise ValueRangeError(f"load_checkpoint: nothing of {path} is left to load")
    if net is not None:
        load_param_into_net(net, found, strict_load, remove_redundancy)
    return found


def _decrypted(path: str, key: bytes | None, mode: str) -> bytes:
    """What is in a file, or, with a key, what was encrypted. raises : FileFormatError"""
    _check_plain(path, key)
    with open(path, "rb") as stream:
        data = stream.read()
    return data if key is None else cipher.decrypt(data, key, mode, path)


def _check_plain(path: str, key: bytes | None) -> None:
    with open(path, "rb") as stream:
        if key is None and cipher.is_encrypted(stream.read(4)):
            raise FileFormatError(f"{path} is encrypted", hint="give dec_key, and dec_mode")


def _prefixes(name: str, given: Any) -> tuple[str, ...]:
    if given is None:
        return ()
    found = (given,) if isinstance(given, str) else given
    if not isinstance(found, (list, tuple)) or not all(isinstance(prefix, str) for prefix in found):
        raise ArgumentError(f"load_checkpoint: {name} is a string or a list of them, not {given!r}")
    if not found or "" in found:
        raise ValueRangeError(f"load_checkpoint: {name} is empty")
    return tuple(found)


class ParamDictFuture:
    """A file that is being read. result() : what load_checkpoint gives, or raises"""

    def __init__(self, executor: concurrent.futures.Executor, param_dict_future: concurrent.futures.Future) -> None:
        self.executor, self.param_dict_future = executor, param_dict_future

    def result(self) -> dict[str, Any]:
        """Wait for the file."""
        try:
            return self.param_dict_future.result()
        finally:
            self.executor.shutdown()


def load_checkpoint_async(ckpt_file_name: Any, net: Any = None, strict_load: bool = False, filter_prefix: Any = None,
                          dec_key: bytes | None = None, dec_mode: str = "AES-GCM", specify_prefix: Any = None,
                          choice_func: Callable[[str], bool] | None = None) -> ParamDictFuture:
    """`load_checkpoint` in a thread of its own; the arguments are its. `result()` of what is given waits for it."""
    executor = concurrent.futures.ThreadPoolExecutor(1)
    return ParamDictFuture(executor, executor.submit(load_checkpoint, ckpt_file_name, net, strict_load, filter_prefix, dec_key,
                                                     dec_mode, specify_prefix, choice_func))


def load_param_into_net(net: Any, parameter_dict: dict, strict_load: bool = False,
                        remove_redundancy: bool = False) -> tuple[list[str], list[str]]:
    """Give the Parameters of a Cell the values in a dict of Parameters by name.

    strict_load : element types must be the same, and names too; else floats are cast to floats and ints to ints, and where
                  names of the file have a prefix that those of the net do not have it is left out
    result      : (names of the net's Parameters that got nothing, names in the dict that the net does not have)
    raises      : ArgumentError for what is no Cell or no dict; MisfitError for a value of another shape or element type:
                  then no Parameter is changed
    """
    if not hasattr(net, "parameters_and_names") or not isinstance(parameter_dict, dict):
        raise ArgumentError(f"load_param_into_net: takes a Cell and a dict, not {type(net).__name__} and "
                            f"{type(parameter_dict).__name__}")
    wait_for_files()
    pairs: list[tuple[Parameter, Any]] = []
    missing: list[Parameter] = []
    for _, parameter in net.parameters_and_names():
        if parameter.name in parameter_dict:
            pairs.append((parameter, parameter_dict[parameter.name]))
        else:
            missing.append(parameter)
    not_used = {*parameter_dict} - {parameter.name for parameter, _ in pairs}
    if missing and not strict_load:
        prefix = _prefix_of(missing, parameter_dict)
        pairs += [(parameter, parameter_dict[prefix + parameter.name]) for parameter in missing
                  if prefix and prefix + parameter.name in parameter_dict]
        missing = [parameter for parameter in missing if not prefix or prefix + parameter.name not in parameter_dict]
    for parameter, given in pairs:
        _check_fit(parameter, given, strict_load)
    for parameter, given in pairs:                           # all or none
        parameter.set_data(Tensor(given, parameter.dtype))
    if missing:
        warnings.warn(f"load_param_into_net: {len(missing)} Parameter(s) got no value: "
                      f"{', '.join(parameter.name for parameter in missing[:5])}", stacklevel=2)
    return [parameter.name for parameter in missing], [name for name in parameter_dict if name in not_used]


def _prefix_of(missing: list[Parameter], given: dict) -> str:
    """What stands in the file before the first missing name that ends one of its names; "" where none does."""
    return next((name[:-len(parameter.name)] for parameter in missing for name in given if name.endswith(parameter.name)), "")


def _check_fit(parameter: Parameter, given: Any, strict: bool) -> None:
    if not isinstance(given, Tensor):
        raise ArgumentError(f"load_param_into_net: {parameter.name!r} is a {type(given).__name__}, no Parameter")
    kinds = parameter.dtype, given.dtype
    castable = not strict and any(all(kind.kind == word for kind in kinds) for word in "fi")
    shapes = [tuple(t.shape) for t in (parameter, given)]
    if shapes[0] != shapes[1] or kinds[0] is not kinds[1] and not castable:
        raise MisfitError(f"load_param_into_net: the Parameter {parameter.name!r} is of another shape or element type",
                          note=f"{kinds[0].short}{list(shapes[0])}, given: {kinds[1].short}{list(shapes[1])}")


# ---------------------------------------------------------------- from one format to the other

def ckpt_to_safetensors(file_path: Any, save_path: Any = None, name_map: dict | None = None,
                        file_name_regex: str | None = None, processes_num: int = 1) -> None:
    """Write .safetensors files with what is in .ckpt files.

    file_path : a file, or a folder with folders rank_0, rank_1, .. of files
    save_path : a folder for what is written; None: beside what is read
    name_map  : {name of a Parameter: its new name}
    file_name_regex : only files whose name it is found in
    processes_num   : MindSpore's; files are read one after the other
    raises    : ValueRangeError for what is no file or folder, or ends otherwise; FileFormatError for damage
    """
    _convert("ckpt_to_safetensors", "ckpt", "safetensors", file_path, save_path, name_map, file_name_regex)


def safetensors_to_ckpt(file_path: Any, save_path: Any = None, name_map: dict | None = None,
                        file_name_regex: str | None = None, processes_num: int = 1) -> None:
    """Write .ckpt files with what is in .safetensors files; arguments as `ckpt_to_safetensors`."""
    _convert("safetensors_to_ckpt", "safetensors", "ckpt", file_path, save_path, name_map, file_name_regex)


def _convert(what: str, old: str, new: str, file_path: Any, save_path: Any, name_map: dict | None, regex: str | None) -> None:
    path = os.fspath(file_path)
    if name_map is not None and not isinstance(name_map, dict):
        raise ValueRangeError(f"{what}: name_map is a dict, not {type(name_map).__name__}")
    if save_path is not None and os.path.splitext(save_path)[1]:
        raise ValueRangeError(f"{what}: save_path is a folder, not {save_path}")
    if os.path.isfile(path):
        if not path.endswith("." + old):
            raise ValueRangeError(f"{what}: {path} does not end with .{old}")
        files = [(path, os.fspath(save_path) if save_path is not None else os.path.dirname(path))]
    elif os.path.isdir(path):
        ranks = sorted(folder for folder in os.listdir(path) if folder.startswith("rank"))
        if not ranks:
            raise ValueRangeError(f"{what}: {path} has no folder rank_0, rank_1, ..")
        files = [(os.path.join(path, folder, name), os.path.join(path if save_path is None else save_path, folder))
                 for folder in ranks for name in sorted(os.listdir(os.path.join(path, folder))) if name.endswith("." + old)]
    else:
        raise ValueRangeError(f"{what}: there is no file or folder {path}")
    files = [(file, folder) for file, folder in files if regex is None or re.search(regex, os.path.basename(file))]
    if not files:
        raise ValueRangeError(f"{what}: no file's name matches {regex!r}")
    for file, folder in files:
        name = os.path.basename(file)[:-len(old)] + new
        values = load_checkpoint(file, format=old)
        save_checkpoint({(name_map or {}).get(key, key): value for key, value in values.items()}, os.path.join(folder, name),
                        format=new)
