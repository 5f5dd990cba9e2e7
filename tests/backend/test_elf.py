"""Object code is loaded without LLVM where it is known how, and does what it does when LLVM loads it."""
import ctypes
import os
import platform
import subprocess
import sys

import llvmlite.binding as llvm
import pytest

from mindlite.backend import elf, machine_code, object_code
from mindlite.backend.machine_code import c_address

here = pytest.mark.skipif(not sys.platform.startswith("linux") or platform.machine() != "x86_64", reason="ELF and x86-64")
TEXT = """
@count = internal global i64 40
@calls = internal global i64 0
@table = internal constant [2 x ptr] [ptr @twice, ptr @next]
declare double @cos(double)
declare ptr @memset(ptr, i32, i64)
declare i64 @given(i64)

define internal i64 @twice(i64 %x) {
  %y = mul i64 %x, 2
  ret i64 %y
}
define internal i64 @next(i64 %x) {
  %n = load i64, ptr @count
  %m = add i64 %n, %x
  store i64 %m, ptr @count
  %c = load i64, ptr @calls
  %d = add i64 %c, 1
  store i64 %d, ptr @calls
  ret i64 %m
}
define i64 @choose(i64 %which, i64 %x) {
  %p = getelementptr [2 x ptr], ptr @table, i64 0, i64 %which
  %f = load ptr, ptr %p
  %y = call i64 %f(i64 %x)
  %z = call i64 @given(i64 %y)
  ret i64 %z
}
define i64 @calls_of_next() {
  %c = load i64, ptr @calls
  ret i64 %c
}
define double @wave(double %x) {
  %c = call double @cos(double %x)
  %y = fmul double %c, 0.1
  %z = fadd double %y, 1.7
  ret double %z
}
define void @clear(ptr %p, i64 %n) {
  %q = call ptr @memset(ptr %p, i32 7, i64 %n)
  ret void
}
"""
GIVEN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x - 1)
SYMBOLS = {"given": ctypes.cast(GIVEN, ctypes.c_void_p).value}


def code_of(text, **options):
    return object_code.object_code({"text": text, "passes": 0, "level": 2, **options})


def find(name):
    return SYMBOLS.get(name) or c_address(name)


def by_llvm(code):
    return machine_code._loaded_by_llvm(code, SYMBOLS, {"level": 2})


def function(engine, name, *types):
    return ctypes.CFUNCTYPE(*types)(engine.get_function_address(name))


@here
@pytest.mark.parametrize("options", [{}, {"reloc": "pic", "codemodel": "default"}], ids=["large", "small and pic"])
def test_code_data_and_calls_are_where_llvm_has_them(options):
    code, seen = code_of(TEXT, **options), []
    for load in (lambda code: elf.load(code, find), by_llvm):
        engine = load(code)
        choose = function(engine, "choose", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
        wave = function(engine, "wave", ctypes.c_double, ctypes.c_double)
        buffer = (ctypes.c_uint8 * 5)()
        function(engine, "clear", None, ctypes.c_void_p, ctypes.c_int64)(ctypes.addressof(buffer), 4)
        seen.append(([choose(0, 21), choose(1, 2), choose(1, 5), function(engine, "calls_of_next", ctypes.c_int64)()],
                     wave(0.3), bytes(buffer), engine.get_function_address("absent")))
    assert seen[0] == seen[1] and seen[0][0] == [41, 41, 46, 2] and seen[0][2] == b"\7\7\7\7\0"


@here
def test_every_loaded_code_has_data_of_its_own():
    code = code_of(TEXT)
    first, second = (elf.load(code, find) for _ in range(2))
    choose = [function(engine, "choose", ctypes.c_int64, ctypes.c_int64, ctypes.c_int64) for engine in (first, second)]
    assert [choose[0](1, 1), choose[0](1, 1), choose[1](1, 1)] == [40, 41, 40]


@here
def test_code_is_executable_and_no_longer_writable():
    loaded = elf.load(code_of(TEXT), find)
    address = loaded.get_function_address("choose")
    with open("/proc/self/maps") as maps:
        rights, = (line.split()[1] for line in maps
                   if int(line.split("-")[0], 16) <= address < int(line.split("-")[1].split()[0], 16))
    assert rights == "r-xp"


@here
@pytest.mark.parametrize("text", [
    "@x = thread_local global i64 0\ndefine i64 @f() {\n %v = load i64, ptr @x\n ret i64 %v\n}",
    "declare void @no_such_function_anywhere()\ndefine void @f() {\n call void @no_such_function_anywhere()\n ret void\n}"],
    ids=["thread-local", "unknown function"])
def test_what_is_not_known_is_left_to_llvm(text):
    assert elf.load(code_of(text), find) is None


@pytest.mark.parametrize("code", [b"", b"\x7fELF", b"\xcf\xfa\xed\xfe" + bytes(100), b"\x7fELF\x02\x01\x01" + bytes(100)])
def test_other_formats_are_left_to_llvm(code):
    assert elf.load(code, find) is None


def test_the_name_of_the_machine_is_llvms_and_asked_for_again_when_the_machine_is_another(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(machine_code.config, "cache_dir", str(tmp_path))
    monkeypatch.setattr(machine_code, "_signs", lambda: "one processor")
    processor = object_code.processor()
    monkeypatch.setattr(object_code, "processor", lambda: asked.append(1) or processor)
    ask = machine_code.machine_name.__wrapped__
    first = ask()
    assert first == ask() and asked == [1] and first.startswith(" ".join(processor))
    assert len(list(tmp_path.rglob("*.machine"))) == 1
    monkeypatch.setattr(machine_code, "_signs", lambda: "another processor")
    assert ask() == first and asked == [1, 1]
    monkeypatch.setattr(machine_code, "_signs", lambda: None)
    assert ask() == first and asked == [1, 1, 1]


def test_the_features_of_the_processor_are_llvms():
    assert machine_code.host_features() == dict(llvm.get_host_cpu_features())


PROGRAM = """
import sys
import numpy as np
import mindlite as ms
from mindlite import nn, ops
net = nn.SequentialCell(nn.Dense(8, 8), nn.ReLU(), nn.Dense(8, 4))
optimiser = nn.Momentum(net.trainable_params(), 0.1, 0.9)
step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimiser)
step.set_train()
x, y = ms.Tensor(np.ones((4, 8), np.float32)), ms.Tensor(np.zeros(4, np.int32))
ms.set_context(mode=ms.GRAPH_MODE)
step(x, y)
print("llvmlite.binding" in sys.modules)
"""


@here
def test_a_process_that_takes_all_from_the_disk_does_not_import_llvm(tmp_path):
    path = os.pathsep.join(p for p in sys.path if p)
    environment = {**os.environ, "MINDLITE_CACHE_DIR": str(tmp_path / "cache"), "MINDLITE_KEEP_FLOWS": "1", "PYTHONPATH": path}
    file = tmp_path / "program.py"
    file.write_text(PROGRAM)
    runs = [subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True)
            for _ in range(2)]
    assert [run.stdout.strip() for run in runs] == ["True", "False"]
