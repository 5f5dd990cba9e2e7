"""Object code on disk: a second process compiles nothing, damage is noticed, concurrent writers do no harm."""
import os
import subprocess
import sys

import pytest

sys.path.insert(0, os.path.dirname(__file__))
import clusters as c                                                                                    # noqa: E402
from clusters import Writer, tensor                                                                     # noqa: E402

from mindlite.common import events                                                                      # noqa: E402
from mindlite.common.config import config                                                               # noqa: E402
from mindlite.backend import kernel_cache as cache                                                      # noqa: E402
from mindlite.graph_kernel import lowering                                                      # noqa: E402
from mindlite.graph_kernel.loopnest import build                                                        # noqa: E402
from mindlite.backend.printers.languages import text_of                                                         # noqa: E402
from mindlite.graph_kernel.schedule import schedule                                                     # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
IN_A_NEW_PROCESS = f"""
import sys
sys.path[:0] = [{ROOT!r}, {os.path.dirname(os.path.abspath(__file__))!r}]
import clusters as c
from mindlite.common.events import counters
c.check(c.softmax_graph(3, 21), text=False)
print(counters["kernel_compile"], counters["kernel_load"], "numba" in sys.modules)
"""


@pytest.fixture
def folder(tmp_path):
    before = config.set(cache_dir=str(tmp_path / "cache"))
    cache.forget()
    yield tmp_path / "cache"
    config.set(**before)
    cache.forget()


def compiled(graph):
    """The address of a cluster's kernel."""
    return lowering(graph).kernel.address


def test_a_kernel_is_compiled_once_and_then_known(folder):
    with events.counting() as seen:
        compiled(c.softmax_graph(3, 20))
        compiled(c.softmax_graph(3, 20))
        compiled(c.softmax_graph(30, 40))                       # other static sizes, the same kernel
    assert seen["kernel_compile"] == 1 and seen["kernel_load"] == 0


def test_what_is_on_disk_is_loaded(folder):
    compiled(c.softmax_graph(3, 20))
    cache.forget()
    with events.counting() as seen:
        c.check(c.softmax_graph(3, 20), text=False)
    assert seen["kernel_compile"] == 0 and seen["kernel_load"] == 1


def test_a_second_process_compiles_nothing_and_needs_no_numba(folder):
    environment = {**os.environ, "MINDLITE_CACHE_DIR": str(folder)}
    runs = [subprocess.run([sys.executable, "-c", IN_A_NEW_PROCESS], env=environment, capture_output=True, text=True)
            for _ in range(2)]
    assert [r.stdout.split() for r in runs] == [["1", "0", str(config.lowering == "numba")], ["0", "1", "False"]], runs[0].stderr


def test_a_damaged_file_is_told_of_and_made_again(folder):
    compiled(c.softmax_graph(3, 20))
    file, = folder.rglob("*.o")
    good = file.read_bytes()
    for damaged in (good[:-7], b"", good[:60] + bytes([good[60] ^ 1]) + good[61:], b"something else" + good):
        file.write_bytes(damaged)
        cache.forget()
        with pytest.warns(RuntimeWarning, match="damaged"), events.counting() as seen:
            c.check(c.softmax_graph(3, 20), text=False)
        assert seen["kernel_compile"] == 1 and file.read_bytes() == good


def test_no_folder_means_no_disk(folder):
    config.set(cache_dir="")
    with events.counting() as seen:
        compiled(c.softmax_graph(3, 20))
        cache.forget()
        compiled(c.softmax_graph(3, 20))
    assert seen["kernel_compile"] == 2 and not folder.exists()


def test_a_folder_that_cannot_be_written_is_a_warning(folder):
    folder.parent.mkdir(exist_ok=True)
    folder.write_text("a file where the folder should be")
    with pytest.warns(RuntimeWarning, match="cannot be written"):
        c.check(c.softmax_graph(3, 20), text=False)


def test_no_half_written_file_is_left(folder):
    compiled(c.softmax_graph(3, 20))
    assert [f.suffix for f in folder.rglob("*") if f.is_file()] == [".o"]


def test_other_code_has_another_key():
    texts = set()
    for operator in (c.add, c.sub, c.mul):
        w = Writer(x=tensor("float32", 40), y=tensor("float32", 40))
        texts.add(text_of(schedule(build(w.graph(w(operator, w.x, w.y))))))
    assert len({cache.key_of(t) for t in texts}) == 3


def test_a_kernel_is_ordered_at_once_and_compiled_when_its_address_is_wanted(folder):
    with events.counting() as seen:
        kernels = [lowering(c.softmax_graph(3, size)).kernel for size in (20, 40)]
        assert seen == {}
    with events.counting() as seen:
        assert kernels[0].address == kernels[1].address != 0
    assert seen["kernel_compile"] == 1
    assert lowering(c.softmax_graph(3, 20)).kernel.where == kernels[0].address


def test_importing_the_room_loads_neither_llvm_nor_numba():
    code = (f"import sys; sys.path.insert(0, {ROOT!r}); import mindlite.graph_kernel; "
            "print('llvmlite' in sys.modules, 'numba' in sys.modules)")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert out.stdout.split() == ["False", "False"], out.stderr
