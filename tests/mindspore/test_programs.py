"""Whole programs for MindSpore, unmodified: `python -m mindlite run program.py` prints the numbers that MindSpore prints.

programs/ holds scripts of the kind that tutorials show; drawn numbers come from NumPy. expected.json holds what MindSpore 2.10
printed on a CPU, in PyNative mode; graph mode here has to give the same (MindSpore's own differs in `dqn`, where Parameters of
a network are replaced between steps, and its CPU kernel of Momentum does not do use_nesterov).

Write expected.json anew:    python test_programs.py /path/to/python-with-mindspore
"""
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).parent
EXPECTED = HERE / "programs" / "expected.json"
PROGRAMS = sorted(path.stem for path in (HERE / "programs").glob("*.py") if path.stem != "fixed")
ALWAYS = {("quickstart", "graph"), ("old_style", "graph"), ("hooks", "graph"), ("checkpoints", "pynative"),
          ("text_pipeline", "graph"), ("language_model", "graph")}
CASES = [pytest.param(name, mode, id=f"{name}-{mode}", marks=[] if (name, mode) in ALWAYS else [pytest.mark.slow])
         for name in PROGRAMS for mode in ("graph", "pynative")]


def printed(command, mode, **env):
    """What a program shows: [[name, value]]."""
    done = subprocess.run([*command, mode], capture_output=True, text=True, timeout=300, env={**os.environ, **env})
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]


def check(found, wanted, name):
    """Numbers agree to 2e-4, all else is equal."""
    if isinstance(wanted, list):
        assert len(found) == len(wanted), name
        for number, (a, b) in enumerate(zip(found, wanted)):
            check(a, b, f"{name}[{number}]")
    elif isinstance(wanted, float):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4, err_msg=name)
    else:
        assert found == wanted, name


@pytest.mark.parametrize("name, mode", CASES)
def test_a_program_prints_what_mindspore_prints(name, mode):
    found = printed([sys.executable, "-m", "mindlite", "run", str(HERE / "programs" / f"{name}.py")], mode,
                    PYTHONPATH=str(HERE.parents[1]))
    wanted = json.loads(EXPECTED.read_text())[name]
    assert [line[0] for line in found] == [line[0] for line in wanted]
    for (what, value), (_, number) in zip(found, wanted):
        check(value, number, what)


if __name__ == "__main__":
    lines = {name: printed([sys.argv[1], str(HERE / "programs" / f"{name}.py")], "pynative") for name in PROGRAMS}
    text = ",\n".join(f"{json.dumps(name)}: [\n " + ",\n ".join(map(json.dumps, found)) + "]" for name, found in lines.items())
    EXPECTED.write_text("{" + text + "}\n")
