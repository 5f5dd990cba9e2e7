"""The command line: run a program, print what it compiled; stdout holds the answer alone."""
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
