"""`mindlite check`: what becomes a graph and what of it Python runs, read from the text, or from what has run."""
import json
import subprocess
import sys

import pytest

from mindlite.cli import main

PROGRAM = '''
from functools import partial
import numpy as np
import mindlite as ms
from mindlite import Tensor, jit, nn, ops

print("the program runs")

def helper(x):
    return ops.tanh(x)

def unrelated(x):
    class Local:
        pass
    return eval("x")

class Base(nn.Cell):
    pass

class Net(Base):
    def construct(self, x):
        y = self.loop(x)
        return helper(y)

    def loop(self, x):
        for _ in range(9):
            x = x + Tensor(np.sort(x.asnumpy()))
        class After:
            pass
        return x

    def unused(self, x):
        class Local:
            pass

def step(x):
    return x * 2

async def never(x):
    return x

fast = jit(step)
slow = ms.jit(never)

@partial(jit, fullgraph=False)
def native(x):
    def inside(y):
        return y * 2
    return inside(x)

def main():
    k = 3

    @jit
    def local(x):
        return x * k
    x = Tensor(np.ones(3, np.float32))
    local(x)
    fast(x)
    arrays(x)
    arrays(x)

@jit
def arrays(v):
    return v + Tensor(np.sort(v.asnumpy()))

if __name__ == "__main__":
    main()
'''


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return str(path)


def line_of(text):
    """The number of the first line that holds `text`."""
    return next(n for n, line in enumerate(PROGRAM.split("\n"), 1) if text in line)


def checked(capsys, *arguments):
    """(status, reports by function) of a check, printed as JSON."""
    status = main(["check", *arguments, "--json"])
    return status, {r["function"]: r for r in json.loads(capsys.readouterr().out)}


def test_functions_that_graphs_are_made_of_are_read_and_nothing_runs(program, capsys):
    status, reports = checked(capsys, program)
    assert status == 1 and "the program runs" not in capsys.readouterr().err
    assert list(reports) == ["helper", "Net.construct", "Net.loop", "step", "never", "native", "main.local", "arrays"]
    because = {name: r["because"] for name, r in reports.items()}
    assert because["helper"] == "called by Net.construct" and because["Net.loop"] == "called by Net.construct"
    assert because["Net.construct"] == "construct of a Cell" and because["native"] == "@jit"
    assert because["step"] == f"given to jit in line {line_of('fast = jit')}"
    native = {name for name, r in reports.items() if r["status"] == "native"}
    assert native == {"helper", "Net.construct", "step", "native", "main.local"}


def test_a_finding_has_its_line_its_reason_and_its_cost(program, capsys):
    loop = checked(capsys, program)[1]["Net.loop"]
    found = loop["findings"]
    assert [f["line"] for f in found] == [line_of("np.sort(x.asnumpy())"), line_of("class After")]
    assert "leaves the Tensors" in found[0]["why"] and "class" in found[1]["why"]
    assert "each iteration of the loop" in found[0]["cost"] and "each time it is reached" in found[1]["cost"]
    assert found[0]["source"] == "x = x + Tensor(np.sort(x.asnumpy()))" and loop["status"] == "native but for"


def test_a_function_that_cannot_be_a_graph_is_python_s_as_a_whole(program, capsys):
    never = checked(capsys, program)[1]["never"]
    assert never["status"] == "in Python" and "coroutine" in never["findings"][0]["why"]
    assert "PyNative" in never["findings"][0]["cost"]


def test_the_text_shows_the_user_s_line_with_a_caret(program, capsys):
    assert main(["check", program]) == 1
    out = capsys.readouterr().out
    assert out.startswith("8 function(s) become graphs: 5 native, 2 with parts in Python, 1 in Python as a whole")
    number = line_of("np.sort(x.asnumpy())")
    assert f"{number:>5} |             x = x + Tensor(np.sort(x.asnumpy()))\n" in out
    assert "^^^^ asnumpy() leaves the Tensors" in out
    assert f"Net.construct (line {line_of('def construct')}, construct of a Cell): native\n" in out


def test_one_function_is_read_by_its_name_even_if_no_graph_is_made_of_it(program, capsys):
    status, reports = checked(capsys, program, "--function", "unrelated")
    assert status == 1 and list(reports) == ["unrelated"]
    assert [f["line"] for f in reports["unrelated"]["findings"]] == [line_of("class Local"), line_of("eval(")]
    assert checked(capsys, program, "--function", "helper")[0] == 0
    assert main(["check", program, "--function", "nothing"]) == 2
    assert "has no function named 'nothing'" in capsys.readouterr().err


def test_with_run_it_tells_what_was_really_compiled(program, capsys):
    status, reports = checked(capsys, program, "--run")
    assert status == 1 and set(reports) == {"main.local", "step", "arrays"}
    assert reports["main.local"]["status"] == "native" and "compiled in" in reports["main.local"]["because"]
    assert {f["line"] for f in reports["arrays"]["findings"]} == {line_of("np.sort(v.asnumpy())")}
    assert checked(capsys, program, "--run", "--function", "local")[0] == 0


def test_a_file_of_native_functions_has_status_0(tmp_path, capsys):
    path = tmp_path / "fine.py"
    path.write_text("from mindlite import jit\n@jit\ndef f(x):\n    return x * 2\n")
    assert main(["check", str(path)]) == 0 and "1 native" in capsys.readouterr().out
    path.write_text("x = 1\n")
    assert main(["check", str(path)]) == 0 and "no function here becomes a graph" in capsys.readouterr().out


def test_what_is_no_python_is_told_so(tmp_path, capsys):
    path = tmp_path / "wrong.py"
    path.write_text("def f(:\n    pass\n")
    assert main(["check", str(path)]) == 2
    err = capsys.readouterr().err
    assert "is no Python" in err and "wrong.py:1" in err


def test_it_runs_as_a_program(program):
    done = subprocess.run([sys.executable, "-m", "mindlite", "check", program, "--function", "native"],
                          capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 and "native (line" in done.stdout
