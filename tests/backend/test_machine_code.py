"""Machine code on the disk: found again for the same facts, made anew when anything else is asked for or it is damaged."""
import ctypes

import pytest

from mindlite.backend import machine_code
from mindlite.backend.cpu.blas import write_matmul
from mindlite.backend.cpu.native import code_of
from mindlite.backend.machine_code import compile_ir, compile_made
from mindlite.backend.target import current
from mindlite.common.config import config
from mindlite.common.dtype import float32, float64

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
    assert five(1, passes=1) == 7
    assert (five.made, six.made) == (2, 1)
    monkeypatch.setattr(machine_code, "sources_hash", lambda *rooms: "another mindlite")
    assert five(1) == 7
    assert five.made == 3


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
