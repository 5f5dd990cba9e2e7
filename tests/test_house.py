"""The house: which room may know which, read from the source with ast.

A module imports from lower floors or from its own room; rooms on one floor do not know each other. Imports stand at the
top of a module, except those of optional vendors. No import cycle, no file that is too long to read.

The tables called KNOWN_.. list what is not yet so. They may only shrink: an entry that is not needed any more fails too.
"""
import ast
import builtins
import functools
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent / "mindlite"
MAX_LINES = 700

FLOORS = [                                       # from the ground up; rooms of one line do not know each other
    {"common"},
    {"mindir", "profiler"},
    {"ops"},
    {"fallback", "backend", "numpy", "communication"},
    {"dataset"},                                     # whose loops over pixels are kernels
    {"mindrecord"},
    {"parse"},
    {"infer"},
    {"ad", "vmap", "parallel", "optim", "graph_kernel"},
    {"compile"},
    {"pynative"},
    {"functional"},                              # the eager side of grad and jit is pynative's tape
    {"nn", "scipy"},
    {"amp"},
    {"train", "lite", "federated", "mint", "boost", "rewrite"},
    {"debug"},
    {"mindspore"},
    {"cli"},
]
COMPILER = {"infer", "ad", "vmap", "optim", "graph_kernel", "compile"}
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
DOORS = {"mindlite", "mindlite.__main__"}        # the public names, and `python -m mindlite`: above all floors

VENDORS = {                                      # optional packages, and heavy ones that wait for their first use
    "scipy_openblas64", "scipy_openblas32", "numba", "llvmlite", "safetensors", "cupy", "mpi4py", "nccl", "nvidia",
    "PIL", "simplejpeg", "scipy", "sentencepiece", "jieba", "tqdm", "cryptography",
}

KNOWN_UPWARD = {
}
KNOWN_INNER_IMPORTS = {
}
KNOWN_CYCLES = {
}
KNOWN_LONG = {
}


@functools.lru_cache(maxsize=None)
def modules():
    """{dotted name: path} of every module."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("mindlite", *path.relative_to(ROOT).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


@functools.lru_cache(maxsize=None)
def tree_of(name):
    return ast.parse(modules()[name].read_text(encoding="utf-8"))


def room_of(name):
    """The room of a module; "" for mindlite itself."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def targets(name, node):
    """The modules that an import statement in module `name` reads; a vendor's by its first word."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name if alias.name.split(".")[0] == "mindlite" else alias.name.split(".")[0]
        return
    base = node.module or ""
    if node.level:
        package = name.split(".") if modules()[name].name == "__init__.py" else name.split(".")[:-1]
        package = package[:len(package) - node.level + 1]
        base = ".".join(package + ([base] if base else []))
    if base.split(".")[0] != "mindlite":
        yield base.split(".")[0]
        return
    for alias in node.names:
        inner = f"{base}.{alias.name}"
        yield inner if inner in modules() else base


@functools.lru_cache(maxsize=None)
def imports(name):
    """(statement, target, stands in a function) for every import of a module."""
    found = []

    def visit(node, inside):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.Import, ast.ImportFrom)):
                found.extend((child, target, inside) for target in targets(name, child))
            visit(child, inside or isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)))
    visit(tree_of(name), False)
    return found


@functools.lru_cache(maxsize=None)
def typing_only(name):
    """The import statements that only a type checker reads: those under `if TYPE_CHECKING`."""
    return {child for node in ast.walk(tree_of(name)) if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
            for child in node.body}


def named(name):
    """(node, module) for each module that a module names in a string, as lazy imports do:
    LazyModule("mindlite.backend.cpu.tile")."""
    return [(node, node.value) for node in ast.walk(tree_of(name))
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
            and node.value.startswith("mindlite.") and node.value in modules()]


def kinds_of_targets():
    """The packages of `backend` that make kernels for one kind of machine: those with a module `target`."""
    return [name.rpartition(".")[0] for name in modules() if re.fullmatch(r"mindlite\.backend\.\w+\.target", name)]


def kinds_by_name():
    """What above `backend` knows one kind of Target: by an import, or by its name in a string or an expression."""
    found = {}
    for name in modules():
        if name in DOORS or FLOOR[room_of(name)] <= FLOOR["backend"]:
            continue
        read = [(node, target) for node, target, _ in imports(name)]
        read += [(node, node.value) for node in ast.walk(tree_of(name))
                 if isinstance(node, ast.Constant) and isinstance(node.value, str)]
        read += [(node, ast.unparse(node)) for node in ast.walk(tree_of(name)) if isinstance(node, ast.Attribute)]
        for kind in kinds_of_targets():
            words = re.compile(rf"\b{kind.removeprefix('mindlite.').replace('.', '[./]')}\b")
            found.update({f"{name} -> {kind}": f"line {node.lineno}" for node, text in read if words.search(text)})
    return found


def settle(found, known, what):
    """Fail for what is not in the table, and for what stands in the table in vain."""
    new, gone = sorted(set(found) - set(known)), sorted(set(known) - set(found))
    assert not new, f"{what}:\n  " + "\n  ".join(f"{key}: {found[key]}" for key in new)
    assert not gone, f"mended, so take these out of the table: {gone}"


def upward():
    found = {}
    for name in modules():
        if name in DOORS:
            continue
        room = room_of(name)
        for node, target in [(node, target) for node, target, _ in imports(name)] + named(name):
            other = room_of(target)
            if target.split(".")[0] != "mindlite" or other == room:
                continue
            if target in DOORS or FLOOR[other] >= FLOOR[room]:
                found[f"{name} -> {target}"] = f"line {node.lineno}: {room} is on floor {FLOOR[room]}, " \
                                               f"{other or 'mindlite itself'} on {FLOOR.get(other, 'the roof')}"
    return found


def inner_imports():
    return {f"{name} -> {target}": f"line {node.lineno}" for name in modules() if name not in DOORS
            for node, target, inside in imports(name) if inside and target not in VENDORS}


def cycles():
    """{modules of a cycle, joined: what to do}: the strongly connected components (Tarjan 1972)."""
    edges = {name: {t for node, t, inside in imports(name) if t in modules() and not inside and t != name
                    and node not in typing_only(name)} for name in modules() if name not in DOORS}
    number, low, stack, found = {}, {}, [], {}

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(edges[name]):
            if other not in edges:
                continue
            if other not in number:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], number[other])
        if low[name] == number[name]:
            cut = stack.index(name)
            if len(stack) - cut > 1:
                found[" - ".join(sorted(stack[cut:]))] = "they import each other"
            del stack[cut:]
    for name in edges:
        if name not in number:
            visit(name)
    return found


def long_files():
    counts = {name: len(path.read_text(encoding="utf-8").splitlines()) for name, path in modules().items()}
    return {name: f"{count} lines" for name, count in counts.items() if count > MAX_LINES}


def test_every_room_has_a_floor():
    rooms = {room_of(name) for name in modules()} - {"", "__main__"}
    assert rooms <= FLOOR.keys(), f"no floor for {sorted(rooms - FLOOR.keys())}"


def test_imports_go_down():
    settle(upward(), KNOWN_UPWARD, "a module imports from its own room and lower floors only")


def test_imports_stand_at_the_top():
    settle(inner_imports(), KNOWN_INNER_IMPORTS, "an import inside a function is for optional vendors")


def test_no_modules_import_each_other():
    settle(cycles(), KNOWN_CYCLES, "import cycles")


def test_no_file_is_too_long_to_read():
    settle(long_files(), KNOWN_LONG, f"more than {MAX_LINES} lines: split it")


def test_what_is_above_backend_asks_a_target_and_knows_none_by_name():
    assert len(kinds_of_targets()) >= 1
    settle(kinds_by_name(), {}, "ask `backend.target`: target_of(device), Wanted.target, lowering.target")


# Where the host is named above `backend`, and why.
NAMES_THE_HOST = {
    "mindlite.functional.shard": "an argument of MindSpore's `shard`", "mindlite.nn.parallel_settings": "the same",
    "mindlite.nn.layer.embedding": "an argument of MindSpore's EmbeddingLookup",
    "mindlite.dataset.operation": "an argument of MindSpore's `device` of an operation",
    "mindlite.dataset.config": "an argument of MindSpore's set_video_backend",
    "mindlite.dataset.serialization": "an argument in MindSpore's descriptions of operations",
    "mindlite.debug.profiler": "a member of MindSpore's ProfilerActivity",
    "mindlite.mint.creation": "an argument of MindSpore's mint functions, which make Tensors on the host"}


def hosts_by_name():
    """The modules above `backend` that name the host's kind in an expression or import its constant."""
    found = {}
    for name in modules():
        if name not in DOORS and FLOOR[room_of(name)] > FLOOR["backend"]:
            for node in ast.walk(tree_of(name)):
                if "CPU" in (getattr(node, "value", None), getattr(node, "id", None), getattr(node, "name", None)):
                    found[name] = f"line {getattr(node, 'lineno', 0)}"
    return found


def test_nothing_above_backend_names_the_host():
    settle(hosts_by_name(), NAMES_THE_HOST, "ask Device.is_host, common.device.target_device() or backend.target")


def test_no_module_writes_machine_code_as_text():
    """It is low Python, or llvmlite's IRBuilder writes it (docs/design/decisions.md)."""
    written = re.compile(r"getelementptr|br label|= alloca|= phi |= load i\d|store i\d")
    assert [name for name, path in modules().items() if written.search(path.read_text(encoding="utf-8"))] == []


def test_no_fault_of_the_compiler_ends_a_map():
    """map(f, ..) takes a StopIteration that f raises by mistake for its own end: `any(map(f, xs))` would be False in silence."""
    found = [f"{name}:{node.lineno}" for name in modules() if room_of(name) in COMPILER for node in ast.walk(tree_of(name))
             if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("map", "filter")
             and isinstance(node.args[0], ast.Name) and not hasattr(builtins, node.args[0].id)]
    assert not found, "write it as a comprehension: " + ", ".join(found)


def test_no_module_is_called_utils():
    words = {"utils", "util", "helpers", "misc", "common2", "tools"}
    assert not [name for name in modules() if name.rpartition(".")[2] in words]


@pytest.mark.parametrize("room", sorted({room_of(n) for n in modules()} - {"", "__main__"}))
def test_every_module_says_what_it_is(room):
    silent = [name for name in modules() if room_of(name) == room and ast.get_docstring(tree_of(name)) is None]
    assert not silent


def test_these_checks_see_a_house_that_is_out_of_order(tmp_path, monkeypatch):
    house = {"common/a.py": "import mindlite.ops.b\nfrom . import c\n", "common/c.py": "from .a import x\n",
             "ops/b.py": "def f():\n    from ..common.a import y\n    import sympy\n    import numba\n",
             "common/d.py": "from .lazy import LazyModule\nb = LazyModule('mindlite.ops.b')\n",
             "ops/utils.py": "x = 0\n" * 701, "__init__.py": "",
             "backend/cpu/__init__.py": "", "backend/cpu/target.py": "",
             "backend/doctor.py": "from .cpu import target\n",
             "compile/a.py": "from ..backend import cpu\n",
             "compile/b.py": "from ..backend.cpu.target import x\n",
             "optim/c.py": "def f(backend):\n    return backend.cpu.blas\n",
             "optim/d.py": "from ..common.lazy import LazyModule\nb = LazyModule('mindlite.backend.cpu.blas')\n",
             "optim/e.py": "from ..common.device import CPU\n", "optim/f.py": "def f(kind):\n    return kind == 'CPU'\n"}
    for name, text in house.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    modules.cache_clear(), tree_of.cache_clear()
    try:
        with monkeypatch.context() as patch:
            patch.setitem(globals(), "ROOT", tmp_path)
            assert list(upward()) == ["mindlite.common.a -> mindlite.ops.b", "mindlite.common.d -> mindlite.ops.b"]
            assert list(kinds_by_name()) == [f"mindlite.{name} -> mindlite.backend.cpu" for name in (
                "compile.a", "compile.b", "optim.c", "optim.d")]
            assert list(hosts_by_name()) == ["mindlite.optim.e", "mindlite.optim.f"]
            assert list(inner_imports()) == ["mindlite.ops.b -> mindlite.common.a", "mindlite.ops.b -> sympy"]
            assert list(cycles()) == ["mindlite.common.a - mindlite.common.c"]
            assert list(long_files()) == ["mindlite.ops.utils"]
    finally:
        modules.cache_clear(), tree_of.cache_clear()


# ---------------------------------------------------------------- elements of Tensors

# (file, receiver) of attributes named `array` that belong to no Tensor: the vector of a run, the array of a flow.Data
OTHER_ARRAYS = {("compile", "context"), ("compile", "self"), ("compile", "i"), ("compile", "self.context"), ("mindir", "self"),
                ("pynative", "context"), ("compile", "writer"), ("mindir", "reader")}


def test_who_reads_elements_of_tensors_says_that_they_are_on_the_cpu():
    """`t.array` is for users; here it is `host_array` (of the CPU only), `asnumpy()` (a copy elsewhere) or `elements`."""
    found = []
    for name in modules():
        if room_of(name) in ("backend", "") or name == "mindlite.common.tensor":
            continue
        for node in ast.walk(tree_of(name)):
            if isinstance(node, ast.Attribute) and node.attr == "array":
                receiver = ast.unparse(node.value)
                if receiver != "np" and (room_of(name), receiver) not in OTHER_ARRAYS:
                    found.append(f"{name}:{node.lineno} {receiver}.array")
    assert not found
