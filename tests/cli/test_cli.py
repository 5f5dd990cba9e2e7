"""The command line: run a program, print what it compiled; stdout holds the answer alone."""
import os
import subprocess
import sys

import pytest

from mindlite.cli import main

PROGRAM = """
import sys
import numpy as np
from mindlite import Tensor, jit, ops

class Net:
    @jit
    def construct(self, x):
        return ops.tanh(x) * 2

def main():
    @jit
    def double(x):
        return x + x
    print("the program speaks", *sys.argv[1:])
    double(Tensor(np.ones((2, 3), np.float32)))
    Net().construct(Tensor(np.ones((2, 3), np.float32)))

if __name__ == "__main__":
    main()
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def test_ir_prints_the_graph_of_a_function_that_was_local(program, capsys):
    assert main(["ir", program, "double", "--stage", "infer"]) == 0
    out = capsys.readouterr().out
    assert "%1 = add(%x, %x) : f32[2, 3]" in out and "program.py:14  return x + x" in out
    assert "speaks" not in out and "====" not in out


def test_without_a_name_all_functions_are_shown(program, capsys):
    assert main(["steps", program]) == 0
    out = capsys.readouterr().out
    assert "==== main.double" in out and "==== Net.construct" in out


@pytest.mark.parametrize("command, words", [("kernel", "def fused_tanh"), ("explain", "because: first call"),
                                            ("memory", "arena"), ("python", "def construct(x):"), ("diff", ""),
                                            ("steps", "optimise")])
def test_every_look_works_on_a_method(program, capsys, command, words):
    assert main([command, program, "construct"]) == 0
    assert words in capsys.readouterr().out


def test_view_writes_its_file(program, tmp_path, capsys):
    assert main(["view", program, "construct", "-o", str(tmp_path / "out.html")]) == 0
    assert "wrote" in capsys.readouterr().out
    assert "tanh" in (tmp_path / "out.html").read_text()


def test_arguments_after_two_dashes_are_the_programs(program, capsys):
    assert main(["steps", program, "double", "--", "loudly", "--fast"]) == 0
    assert "the program speaks loudly --fast" in capsys.readouterr().err


def test_a_name_that_was_not_compiled_lists_those_that_were(program, capsys):
    assert main(["ir", program, "triple"]) == 2
    assert "no function named 'triple'; there are: main.double, Net.construct" in capsys.readouterr().err


def test_a_program_that_compiles_nothing_or_is_not_there_is_told_so(tmp_path, capsys):
    empty = tmp_path / "empty.py"
    empty.write_text("print(1)")
    assert main(["ir", str(empty)]) == 2
    assert main(["ir", str(tmp_path / "none.py")]) == 2
    err = capsys.readouterr().err
    assert "compiled nothing" in err and "there is no file" in err


def test_a_program_that_fails_shows_its_error(tmp_path, capsys):
    wrong = tmp_path / "wrong.py"
    wrong.write_text("import nonsense_that_is_not_there")
    assert main(["ir", str(wrong)]) == 1
    assert "ModuleNotFoundError" in capsys.readouterr().err


def test_the_package_runs_as_a_program():
    done = subprocess.run([sys.executable, "-m", "mindlite", "doctor"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "numpy" in done.stdout


# ---------------------------------------------------------------- programs for MindSpore

SCRIPT = '''
import sys
import mindspore as ms
import mindspore.nn as nn
from mindspore import Tensor, ops
from mindspore.ops import operations as P
from mindspore.common import dtype as mstype
import mindlite

assert ms is sys.modules["mindlite.mindspore"] and nn is ms.nn and P is ms.ops.operations
print(sys.argv[1:], P.ReLU()(Tensor([-1.0, 2.0], mstype.float32)), __name__)
if "fail" in sys.argv:
    ops.matmul(Tensor([1.0]), Tensor([[1.0, 2.0], [3.0, 4.0]]))
sys.exit(3 if "exit" in sys.argv else 0)
'''


@pytest.mark.parametrize("arguments, status, said", [(["--epochs", "3"], 0, "['--epochs', '3']"), (["exit"], 3, "['exit']"),
                                                     (["fail"], 1, "ShapeError")])
def test_a_program_for_mindspore_runs_as_it_is(tmp_path, arguments, status, said):
    (tmp_path / "train.py").write_text(SCRIPT)
    run = subprocess.run([sys.executable, "-m", "mindlite", "run", "train.py", *arguments], cwd=tmp_path, capture_output=True,
                         text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    assert run.returncode == status and said in run.stdout + run.stderr, run.stderr
    assert "[0. 2.] __main__" in run.stdout
    assert status != 1 or "train.py" in run.stderr
