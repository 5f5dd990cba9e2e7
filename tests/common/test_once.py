"""once: threads that ask at the same time get one object, and nothing that was made is let go."""
import ast
import gc
import os
import pathlib
import subprocess
import sys
import threading
import weakref

import pytest

import mindlite
from mindlite.common.once import once

MACHINE_CODE = {"LowModule", "MachineCode", "code_of", "compile_made", "compile_ir", "Kernel", "CFUNCTYPE", "builtin",
                "library_kernel"}


class Made:
    pass


def test_threads_that_ask_at_the_same_time_get_the_same_object_and_the_other_one_lives():
    together, seen, all_made = threading.Barrier(3), [], []

    @once
    def make(name, *, wide=False):
        """what is made"""
        together.wait(10)                                    # all three are inside before one of them has a result
        made = Made()
        all_made.append(weakref.ref(made))
        return made
    threads = [threading.Thread(target=lambda: seen.append(make("a", wide=True))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 3 and len(set(map(id, seen))) == 1 and make("a", wide=True) is seen[0]
    gc.collect()
    assert len(all_made) == 3 and all(made() is not None for made in all_made), "code that is called may be in each of them"
    assert make.__name__ == "make" and make.__doc__ == "what is made"


def test_each_arguments_have_a_result_of_their_own_and_errors_are_not_kept():
    calls = []

    @once
    def make(a, b=1):
        calls.append((a, b))
        if a < 0:
            raise ValueError(a)
        return object()
    assert make(1) is make(1) and make(1) is not make(2) and make(1, b=2) is make(1, b=2)
    for _ in range(2):
        with pytest.raises(ValueError):
            make(-1)
    assert calls == [(1, 1), (2, 1), (1, 2), (-1, 1), (-1, 1)]
    before = make(1)
    make.cache_clear()
    assert make(1) is not before


def test_machine_code_is_remembered_by_once_alone():
    """functools.cache gives threads objects of their own, and drops all but one of them with their code."""
    found = []
    for path in sorted(pathlib.Path(mindlite.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef) and any("cache(" in ast.unparse(d) + "(" for d in node.decorator_list):
                names = {getattr(n, "id", getattr(n, "attr", None)) for n in ast.walk(node)}
                found += [f"{path.name}: {node.name}"] if names & MACHINE_CODE else []
    assert not found


THREADS = """
import gc, sys, threading
import numpy as np
import mindlite as ms
from mindlite import Tensor, nn, ops
from mindlite.backend import kernel_cache
from mindlite.common.once import once
sys.setswitchinterval(1e-6)
rng = np.random.default_rng(0)
x, w = [Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((9, 6), (6, 7))]
image, kernel = [Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((2, 3, 8, 8), (4, 3, 3, 3))]
def program(x, w, image, kernel):
    return ops.tanh(x @ w).sum() + ops.relu(ops.conv2d(image, kernel)).sum() + ops.sort(x.reshape(-1))[0].sum()
want = ms.grad(program, (0, 1, 2, 3))(x, w, image, kernel)
for _ in range(ROUNDS):
    for made in [o for o in gc.get_objects() if type(o) is once]:
        made.cache_clear()
    kernel_cache.forget()
    found, together = [], threading.Barrier(3)
    def work():
        f = ms.jit(ms.grad(lambda *a: program(*a), (0, 1, 2, 3)), fullgraph=True)
        together.wait()
        for _ in range(3):
            found.append(f(x, w, image, kernel))
            gc.collect()
    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads: t.start()
    for t in threads: t.join()
    assert len(found) == 9
    for grads in found:
        for a, b in zip(grads, want):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-4, atol=1e-5)
"""


@pytest.mark.parametrize("rounds", [1, pytest.param(20, marks=pytest.mark.slow)])
def test_threads_that_compile_at_the_same_time_compute_what_one_computes(rounds, tmp_path):
    """In a process of its own, whose kernels are all new: machine code that is unloaded in use would end it."""
    subprocess.run([sys.executable, "-c", THREADS.replace("ROUNDS", str(rounds))], check=True, timeout=600,
                   env={**os.environ, "MINDLITE_CACHE_DIR": str(tmp_path), "PYTHONFAULTHANDLER": "1"})
