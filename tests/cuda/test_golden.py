"""One kernel of each kind as it is written, for a reader: golden/NAME.ll, NAME.py for numba.cuda; ptx.json, what is in its PTX.

A change of a printer shows here as a change of text. `python test_golden.py` in this directory writes the files anew; then read
what git says of them. LLVM's own text differs between its versions, so of the PTX only instructions that matter are counted.
"""
import contextlib
import json
import os
import pathlib
import re
import subprocess
import sys

import llvmlite
import pytest
from test_kernels import CASES, ARCHITECTURES, scheduled

from mindlite.backend.cuda import kept_rows, library, nvptx
from mindlite.backend.cuda.code import kernel_text, ptx
from mindlite.backend.cuda.numba_source import cuda_source
from mindlite.common import dtype as dt

HERE = pathlib.Path(__file__).parent / "golden"
NESTS = {"grid stride": "broadcast", "row": "means of rows", "kept row": "softmax", "block reduction": "sum of all",
         "columns": "column sums", "transpose": "transpose", "gather": "gather"}
PARTS = {"scatter sorted": ("index_add", {"index": dt.int64, "depth": 1}),
         "scatter atomic": ("index_add", {"index": dt.int64, "depth": 1, "deterministic": False}),
         "scan": ("scan", {"kind": "sum"}), "topk": ("topk", {"largest": True})}
KINDS = {                                        # what is counted in PTX: its pattern
    "barriers": r"\bbar\.sync", "shuffles": r"shfl\.sync\.bfly", "atomics": r"\b(atom|red)\.", "shared loads": r"ld\.shared",
    "shared stores": r"st\.shared", "local memory": r"\.local\b", "calls": r"\bcall\b", "loops": r"bra\.uni|\bbra\b",
    "fused multiply-adds": r"\bfma\.rn"}
VERSION = ".".join(llvmlite.__version__.split(".")[:2])      # it writes the text
EXACT = ("barriers", "shuffles", "atomics", "local memory", "calls")         # LLVM may unroll and share the others


@contextlib.contextmanager
def chunks_of_a_row(count):
    """Rows in registers have so many chunks of four elements: eight copies of the same work are nothing to read."""
    before, kept_rows.MOST = kept_rows.MOST, 4 * count
    try:
        yield
    finally:
        kept_rows.MOST = before


def text_of(name):
    """The LLVM IR of a kernel's part."""
    if name in NESTS:
        with chunks_of_a_row(1):
            return nvptx.emit(scheduled(CASES[NESTS[name]][1](1)))
    kind, facts = PARTS[name]
    return library.part(kind, dtype=dt.float32, **facts)


def counts_of(name, architecture="sm_90"):
    """How often each of KINDS stands in its PTX."""
    text = ptx(kernel_text([text_of(name)], extent=name in PARTS), architecture)
    return {kind: len(re.findall(pattern, text)) for kind, pattern in KINDS.items()}


def cuda_text_of(name):
    """The text for numba.cuda of a generated kernel."""
    return cuda_source(scheduled(CASES[NESTS[name]][1](1)), plain=False)


def file_of(name, language="ll"):
    return HERE / f"{name.replace(' ', '_')}.{language}"


@pytest.mark.skipif(json.loads((HERE / "ptx.json").read_text()).get("llvmlite") != VERSION if HERE.exists() else False,
                    reason="the text is that of another version of llvmlite")
@pytest.mark.parametrize("name", [*NESTS, *PARTS])
def test_a_kernel_is_written_as_it_was(name):
    assert text_of(name) == file_of(name).read_text(), "python tests/cuda/test_golden.py writes it anew: read the difference"


@pytest.mark.parametrize("name", NESTS)
def test_a_kernel_is_written_for_numba_cuda_as_it_was(name):
    assert cuda_text_of(name) == file_of(name, "py").read_text(), "python tests/cuda/test_golden.py writes it anew"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("architecture", ARCHITECTURES)
@pytest.mark.parametrize("name", [*NESTS, *PARTS])
def test_its_ptx_meets_shuffles_and_adds_as_often_as_it_did(name, architecture):
    found, wanted = counts_of(name, architecture), json.loads((HERE / "ptx.json").read_text())[name]
    assert {kind: found[kind] for kind in EXACT} == {kind: wanted[kind] for kind in EXACT}
    assert found["local memory"] == 0 and found["calls"] == (len(nvptx.WAYS) if name == "kept row" else 0)
    assert (found["atomics"] > 0) == (name == "scatter atomic")
    assert (found["shared loads"] > 0) == (wanted["shared loads"] > 0)


def test_the_text_of_a_kernel_is_the_same_in_every_process(tmp_path):
    """No order of a set or of addresses is in it."""
    program = "import sys; sys.path[:0] = sys.argv[1:]\nimport test_golden as g\n" \
              "print(''.join(map(g.text_of, [*g.NESTS, *g.PARTS])))"
    paths = [str(HERE.parent), str(HERE.parents[1] / "graph_kernel")]
    found = []
    for seed in ("1", "2"):
        done = subprocess.run([sys.executable, "-c", program, *paths], capture_output=True, text=True,
                              env={**os.environ, "PYTHONHASHSEED": seed})
        assert done.returncode == 0, done.stderr
        found.append(done.stdout)
    assert found[0] == found[1] and len(found[0]) > 1000


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    for kernel in (*NESTS, *PARTS):
        file_of(kernel).write_text(text_of(kernel))
    for kernel in NESTS:
        file_of(kernel, "py").write_text(cuda_text_of(kernel))
    counts = {kernel: counts_of(kernel) for kernel in (*NESTS, *PARTS)}
    (HERE / "ptx.json").write_text(json.dumps({"llvmlite": VERSION, **counts}, indent=1) + "\n")
