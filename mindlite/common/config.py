"""One table of switches. Each has a name, a default, an environment variable and a sentence; nothing else reads os.environ.

    config.verify          read         config.set(verify=True)          change for the process
"""
from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .records import dataclass

GRAPH_MODE = 0
PYNATIVE_MODE = 1
STRICT, LAX = 0, 2                          # MindSpore's levels of jit_syntax


@dataclass(frozen=True)
class Switch:
    """name, default, environment variable ("" for none), how its text is read, what it does, and whether only the
    environment decides it (what it switches is done when mindlite is imported)."""
    name: str
    default: Any
    variable: str
    read: Any
    doc: str
    at_import: bool = False


def _flag(text: str) -> bool:
    return text.lower() not in ("", "0", "false", "no")


def _says_malloc(environment: Mapping[str, str]) -> bool:
    """Does the environment tell glibc's malloc what to keep?"""
    return "glibc.malloc" in environment.get("GLIBC_TUNABLES", "") or any(
        f"MALLOC_{what}_" in environment for what in ("TRIM_THRESHOLD", "MMAP_THRESHOLD", "MMAP_MAX", "TOP_PAD"))


SWITCHES = (
    Switch("mode", PYNATIVE_MODE, "", int, "GRAPH_MODE (0): Cells run as graphs; PYNATIVE_MODE (1): line by line"),
    Switch("device_target", "CPU", "MINDLITE_DEVICE_TARGET", str, "the kind of device that kernels are made for"),
    Switch("device_id", 0, "MINDLITE_DEVICE_ID", int, "which device of that kind"),
    Switch("cuda", "", "MINDLITE_CUDA", str, "simulator: the GPUs are two of CUDA's simulator, which needs none"),
    Switch("cuda_graphs", True, "MINDLITE_CUDA_GRAPHS", _flag,
           "a compiled function of fixed sizes without decisions is captured on a GPU and replayed; read when it is compiled"),
    Switch("tf32", False, "MINDLITE_TF32", _flag,
           "products of float32 on a GPU may round their operands to 10 bits; read when a GPU is asked for first"),
    Switch("verify", False, "MINDLITE_VERIFY", _flag, "poison freed storage with NaN and check plans while running"),
    Switch("verify_graphs", False, "MINDLITE_VERIFY_GRAPHS", _flag,
           "check every typed graph behind each pass; MINDLITE_VERIFY=1 does so too"),
    Switch("cache_dir", os.path.join(os.path.expanduser("~"), ".cache", "mindlite"), "MINDLITE_CACHE_DIR", str,
           "where compiled kernels are cached; empty for nowhere"),
    Switch("keep_flows", True, "MINDLITE_KEEP_FLOWS", _flag,
           "keep compiled functions in cache_dir, so that a later process compiles nothing"),
    Switch("printer", "native", "MINDLITE_PRINTER", str, "how a Flow runs: native (LLVM), vm (register machine), python"),
    Switch("threads", 0, "MINDLITE_THREADS", int, "threads of a kernel; 0 for the number of cores"),
    Switch("lanes", 0, "MINDLITE_LANES", int,
           "float32 numbers of a vector in kernels: 4, 8 or 16; 0 for as many as the processor has"),
    Switch("check_nan", False, "", _flag, "an operator that makes NaN or infinity out of finite operands is an error"),
    Switch("onednn", True, "MINDLITE_ONEDNN", _flag, "use oneDNN where it is installed"),
    Switch("jit_level", "O1", "MINDLITE_JIT_LEVEL", str, "O0: one kernel per operator; O1: operators are fused"),
    Switch("jit_syntax_level", LAX, "MINDLITE_JIT_SYNTAX_LEVEL", int,
           "LAX (2): what a graph cannot say runs in Python; STRICT (0): it is an error, as with jit(fullgraph=True)"),
    Switch("mindspore_rules", False, "MINDLITE_MINDSPORE_RULES", _flag,
           "refuse what MindSpore refuses: a name that is defined nowhere, when the function is compiled; a compiled bprop"),
    Switch("compile_workers", max(0, min(4, os.cpu_count() or 1) - 1), "MINDLITE_COMPILE_WORKERS", int,
           "processes that compile kernels beside this one, where there is much to compile; 0 for none"),
    Switch("compile_beside", True, "MINDLITE_COMPILE_BESIDE", _flag,
           "eager mode compiles beside the run, in a thread; 0: at once, and equal runs give equal bits"),
    Switch("repeatable", False, "MINDLITE_REPEATABLE", _flag,
           "a step gives the same bits whatever ran before it: eager code is compiled at once and at first sight, and up to four "
           "sizes of a compiled function's arguments have a variant each. SaveState and load_state switch it on"),
    Switch("lowering", "llvm", "MINDLITE_LOWERING", str,
           "how fused kernels become machine code: llvm (LLVM IR, compiles faster) or numba (Python text, same results)"),
    Switch("progress", True, "MINDLITE_PROGRESS", _flag, "Model shows its progress on standard error: a bar, or a line an epoch"),
    Switch("native_calls", True, "MINDLITE_NATIVE_CALLS", _flag,
           "let machine code read Python objects: eager operators and compiled calls run below Python; 0: plain Python, "
           "same results", at_import=True),
    Switch("freeze", True, "MINDLITE_FREEZE", _flag,
           "garbage collections walk past what lived at import, but for `gc.collect()` and one a minute behind a gradient "
           "(common/garbage.py); 0: the collector is left as it is", at_import=True),
    Switch("kept_memory", 0 if _says_malloc(os.environ) else 256, "MINDLITE_KEPT_MEMORY", int,
           "MB of freed memory that glibc's malloc keeps for what is made next (common/kept_memory.py); 0, and where the "
           "environment has MALLOC_TRIM_THRESHOLD_ or the like: malloc is left as it is", at_import=True),
    Switch("ranks_timeout", 300.0, "MINDLITE_RANKS_TIMEOUT", float,
           "seconds after which a rank that waits for another gives up, and all ranks end"),
    Switch("shared_memory", True, "MINDLITE_SHARED_MEMORY", _flag,
           "collectives of ranks on one machine go through memory that they share; 0: through MPI. Read when a group of ranks "
           "has its first one"),
    Switch("show_framework_frames", False, "MINDLITE_FRAMES", _flag, "keep mindlite's own frames in tracebacks"),
)


def _read(switch: Switch, text: str) -> int | str:
    try:
        return switch.read(text)
    except ValueError as error:
        raise ValueError(f"{switch.variable}={text!r} cannot be read: {error}") from error


_NAMES = tuple(switch.name for switch in SWITCHES)
_AT_IMPORT = {switch.name: switch.variable for switch in SWITCHES if switch.at_import}


class Config:
    """The switches as attributes; `set` refuses a name that is not in the table."""

    def __init__(self) -> None:
        for switch in SWITCHES:
            text = os.environ.get(switch.variable) if switch.variable else None
            object.__setattr__(self, switch.name, switch.default if text is None else _read(switch, text))

    if TYPE_CHECKING:
        def __getattr__(self, name: str) -> Any:
            """The value of the switch of this name."""

    def __setattr__(self, name: str, value: int | str) -> None:
        self._check(name)
        object.__setattr__(self, name, value)

    @staticmethod
    def _check(name: str) -> None:
        if name not in _NAMES:
            raise AttributeError(f"no switch named {name!r}; there are {', '.join(_NAMES)}")
        if name in _AT_IMPORT:
            raise AttributeError(f"{name} is decided when mindlite is imported: set {_AT_IMPORT[name]} in the environment")

    def set(self, **values: Any) -> dict[str, Any]:
        """Change several switches, all or none; returns their former values. raises : AttributeError for an unknown name"""
        for name in values:
            self._check(name)
        before = {name: getattr(self, name) for name in values}
        for name, value in values.items():
            setattr(self, name, value)
        return before


config = Config()
