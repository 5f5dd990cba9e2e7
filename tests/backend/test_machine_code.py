"""Machine code on the disk: found again for the same facts, made anew when anything else is asked for or it is damaged."""
import ctypes
import pathlib
import shutil

import numpy as np
import pytest

import mindlite as ms
from mindlite import ops
from mindlite.backend import machine_code
from mindlite.backend.cpu.blas import write_matmul
from mindlite.backend.cpu.native import code_of
from mindlite.backend.machine_code import compile_ir, compile_made
from mindlite.backend.printers import languages
from mindlite.backend.target import current
from mindlite.common.config import config
from mindlite.common import sources
from mindlite.common.dtype import float32, float64
from mindlite.compile import disk_cache
from mindlite.compile.printers import runtime, vm

TEXT = """declare i64 @test_add_one(i64)
define i64 @f(i64 %x) {{
  %y = call i64 @test_add_one(i64 %x)
  %z = add i64 %y, {0}
  ret i64 %z
}}"""
ADD_ONE = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x + 1)


@pytest.fixture(autouse=True)
def folder(tmp_path):
    """An empty cache."""
    before = config.set(cache_dir=str(tmp_path / "cache"))
    yield tmp_path / "cache" / "flow"
    config.set(**before)


class Maker:
    """x -> x + 1 + `number`; `made` counts how often the text was made, `asked` what addresses were asked for."""

    def __init__(self, number):
        self.number, self.made, self.asked = number, 0, []

    def make(self):
        self.made += 1
        return "f", TEXT.format(self.number), {"test_add_one"}

    def address_of(self, name):
        self.asked.append(name)
        return ctypes.cast(ADD_ONE, ctypes.c_void_p).value

    def __call__(self, x, passes=0):
        name, code = compile_made(("a test", self.number), self.make, self.address_of, passes=passes)
        assert name == "f"
        return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("f"))(x)


def test_a_text_is_made_once_and_its_library_is_found_each_time():
    five = Maker(5)
    assert [five(1), five(2)] == [7, 8]
    assert five.made == 1 and five.asked == ["test_add_one"] * 2


def test_other_facts_other_passes_and_other_sources_are_other_code(monkeypatch):
    five, six = Maker(5), Maker(6)
    assert (five(1), six(1)) == (7, 8)
    assert five(1, passes=1) == 7 == five(1, passes="few")
    assert (five.made, six.made) == (3, 1)
    monkeypatch.setattr(machine_code, "sources_hash", lambda *rooms: "another mindlite")
    assert five(1) == 7
    assert five.made == 4


@pytest.fixture
def change(monkeypatch, tmp_path):
    """change(file) adds a comment to a source of a copy of mindlite, by which the keys of the disk are made from then on."""
    copy = tmp_path / "mindlite"
    shutil.copytree(sources.ROOT, copy, ignore=lambda folder, names: [
        n for n in names if not n.endswith(".py") and not (pathlib.Path(folder) / n).is_dir()])
    monkeypatch.setattr(sources, "ROOT", str(copy))

    def forget():
        for known in (sources.folder_hash, sources._rooms, disk_cache.versions, languages._numba_version):
            known.cache_clear()

    def changed(file):
        (copy / file).write_text((copy / file).read_text() + "# changed\n")
        forget()
    forget()
    yield changed
    forget()


WRITERS = [*(f"backend/{name}.py" for name in (
    "low_writer", "low_python", "words", "operators", "loops", "narrow_floats", "object_code", "array_code", "entry_code",
    "launcher_code", "horizontal_code", "cpu/native", "printers/arithmetic", "printers/math_functions", "printers/angles",
    "printers/values", "printers/lower_llvm", "printers/parts"))]
COMPILERS = [f"compile/printers/{name}.py" for name in ("native_ir", "scalar_ir", "runtime_code", "vm_machine", "vm_code")]


@pytest.mark.parametrize("file", WRITERS)
def test_a_change_of_what_writes_code_is_another_key_of_library_kernels_and_low_python(change, file):
    five = Maker(5)
    assert five(1) == five(1) == 7 and five.made == 1
    change(file)
    assert five(1) == 7 and five.made == 2


@pytest.mark.parametrize("file", [*WRITERS, *COMPILERS, "pynative/native_code.py", "pynative/native_plans.py"])
def test_a_change_of_what_writes_code_is_another_key_of_compiled_functions(change, file):
    before = list(disk_cache.versions())
    change(file)
    assert [a == b for a, b in zip(before, disk_cache.versions())].count(False) == 1


@pytest.mark.parametrize("file", COMPILERS[1:])
def test_a_change_of_what_writes_them_is_another_key_of_the_runtime_and_of_the_register_machine(change, file, monkeypatch):
    facts = []
    runtime.runtime()

    def asked(given, *args, **options):
        facts.append(given)
        raise InterruptedError
    monkeypatch.setattr(runtime, "compile_made", asked)
    monkeypatch.setattr(vm, "compile_made", asked)

    def keys():
        facts.clear()
        for make in (runtime.runtime_code.__wrapped__, vm.machine.__wrapped__):
            with pytest.raises(InterruptedError):
                make()
        return list(facts)
    before = keys()
    change(file)
    assert all(a != b for a, b in zip(before, keys(), strict=True))


@pytest.mark.parametrize("file", ["backend/operators.py", "backend/narrow_floats.py", "backend/printers/lower_numba.py"])
def test_a_change_of_what_its_names_mean_is_another_text_for_numba(change, file, monkeypatch):
    monkeypatch.setattr(languages.metadata, "version", lambda name: "0.68.0")
    before = languages._numba_version()
    change(file)
    assert languages._numba_version() != before


@pytest.mark.parametrize("kind", ["*.made", "*.o"])
def test_what_is_damaged_is_made_anew(folder, kind):
    five = Maker(5)
    five(1)
    path, = folder.glob(kind)
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    with pytest.warns(RuntimeWarning, match="is damaged; it is made anew"):
        assert five(1) == 7
    assert five.made == 2
    assert five(1) == 7 and five.made == 2


def test_what_is_gone_is_made_anew(folder):
    five = Maker(5)
    five(1)
    for path in folder.glob("*.o"):
        path.unlink()
    assert five(1) == 7 and five.made == 2


def test_without_a_cache_every_text_is_made():
    config.set(cache_dir="")
    five = Maker(5)
    assert five(1) == five(1) == 7 and five.made == 2


def test_code_without_a_cache_and_code_from_the_disk_compute_the_same(folder):
    text = "define i64 @f(i64 %x) { %y = mul i64 %x, 3 ret i64 %y }"
    results = []
    for keep in (False, True, True):
        code = compile_ir(text, keep=keep)
        results.append(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code.address("f"))(14))
    assert results == [42] * 3 and len(list(folder.glob("*.o"))) == 1


def test_kernels_of_other_types_flags_and_surroundings_are_other_code(folder):
    given = [(float32, False, False, "none", False), (float64, False, False, "none", False),
             (float32, True, False, "none", False), (float32, False, False, "none", True)]
    names = [code_of(write_matmul, *facts, target=current())[0] for facts in given]
    assert names == ["matmul_f32_nn_none", "matmul_f64_nn_none", "matmul_f32_tn_none", "matmul_f32_nn_none_add"]
    count = len(list(folder.glob("*.made")))
    code_of(write_matmul, *given[0], target=current())
    assert len(list(folder.glob("*.made"))) == count
    name, _, text = code_of(write_matmul, *given[0], target=current(), given="another library")
    assert name == names[0] and len(list(folder.glob("*.made"))) == count + 1
    assert "def write_matmul" in text()


def test_a_sum_of_what_a_library_computes_is_compiled_without_a_word_of_llvm(capfd):
    x, y = (ms.Tensor(np.arange(1.0, 7.0, dtype=np.float32) * k) for k in (5, 2))
    total = ms.jit(lambda x, y: ops.fmod(x, y).sum(), fullgraph=True, dynamic=1)
    assert float(total(x, y)) == np.fmod(x.asnumpy(), y.asnumpy()).sum()
    assert "vectorized" not in capfd.readouterr().err
