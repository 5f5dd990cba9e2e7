"""Rows in registers: the numbers of the CPU at all lengths and addresses, each element read once, no spills."""
import re

import clusters as c
import numpy as np
import pytest
from clusters import for_gpu, run_simulated
from gpus import assembled, ptxas, runs_here
from test_kernels import CASES, written

from mindlite import ops
from mindlite.backend.cuda import kept_rows, nvptx
from mindlite.backend.cuda.code import kernel_text, ptx
from mindlite.backend.cuda.simulator import Simulated
from mindlite.common.dim import evaluate
from mindlite.graph_kernel import lowering


def norm(x, gamma):
    return x * ops.rsqrt((x * x).mean(-1, keep_dims=True) + 1e-6) * gamma


def softmax_gradient(y, dy):
    return (dy - (dy * y).sum(-1, keepdims=True)) * y


def norm_gradient(x, gamma, dy):
    scale = ops.rsqrt((x * x).mean(-1, keep_dims=True) + 1e-6)
    scaled = dy * gamma
    return (scaled - x * scale * scale * (scaled * x).mean(-1, keep_dims=True)) * scale


def layer_norm_gradient(x, gamma, dy):
    mean = x.mean(-1, keep_dims=True)
    scale = ops.rsqrt(ops.square(x - mean).mean(-1, keep_dims=True) + 1e-5)
    normal, scaled = (x - mean) * scale, dy * gamma
    return (scaled - scaled.mean(-1, keep_dims=True) - normal * (scaled * normal).mean(-1, keep_dims=True)) * scale


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - ops.log(ops.exp(shifted).sum(-1, keepdims=True))


def cross_entropy_gradient(x, hot):
    shifted = ops.exp(x - x.max(-1, keepdims=True))
    return shifted / shifted.sum(-1, keepdims=True) - hot


def best(x):
    return x - x.max(-1, keepdims=True), ops.argmax(x, -1)


ROWS = {                                                     # name: its graph for rows and their length
    "softmax": lambda rows, n: c.softmax_graph(rows, n),
    "softmax, bfloat16": lambda rows, n: c.softmax_graph(rows, n, dtype="bfloat16"),
    "softmax, float64": lambda rows, n: written(lambda x: x / (x * x).sum(-1, keepdims=True), (rows, n), dtype="float64"),
    "softmax, gradient": lambda rows, n: written(softmax_gradient, (rows, n), (rows, n)),
    "log_softmax": lambda rows, n: written(log_softmax, (rows, n)),
    "cross entropy, gradient": lambda rows, n: written(cross_entropy_gradient, (rows, n), (rows, n)),
    "layer_norm": lambda rows, n: c.layer_norm_graph(rows, n),
    "layer_norm, gradient": lambda rows, n: written(layer_norm_gradient, (rows, n), (n,), (rows, n)),
    "rms_norm": lambda rows, n: written(norm, (rows, n), (n,)),
    "rms_norm, gradient": lambda rows, n: written(norm_gradient, (rows, n), (n,), (rows, n)),
    "argmax": lambda rows, n: written(best, (rows, n)),
}
LENGTHS = 3, 30, 64, 100, 252, 1020, 1024, 1032              # 3 is unrolled; 32 threads keep 1024: the last one does not fit
OF_A_NUMBER = 3, 100, 1024                                   # where the length is in the text: a mean divides by it


def emitted(graph):
    nest = for_gpu(graph)
    emitter = nvptx._ThreadEmitter(nest, nvptx.ir.Module("kernel"))
    return nest, emitter.kept


def inputs_of(graph):
    rng = np.random.default_rng(5)
    return [c.sample(p.abstract, rng) for p in graph.parameters]


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_is_read_twice_is_kept(name):
    nest, kept = emitted(ROWS[name](5, 77))
    assert kept is not None and kept.many * kept.side >= 32 and len(kept.places) == len([
        o for o in nest.inputs if len(o.shape) == 2 or o.name == "gamma" or name.startswith(("rms", "layer"))])


@pytest.mark.parametrize("name", ["argmax", "sum of all", "concat", "column sums", "elementwise"])
def test_what_is_read_once_is_not_kept(name):
    assert emitted(CASES[name][1](1))[1] is None


@runs_here
@pytest.mark.parametrize("many", [False, True], ids=["few rows, with many threads each", "many rows"])
@pytest.mark.parametrize("name", ROWS)
def test_rows_of_all_lengths_and_addresses_give_the_cpus_numbers(name, many, monkeypatch):
    monkeypatch.setattr(nvptx, "MANY_ROWS", 5 if many else 6)
    kernels = {}
    for length in OF_A_NUMBER if "norm" in name else LENGTHS:
        graph = ROWS[name](5, length)
        nest, inputs = for_gpu(graph), inputs_of(graph)
        text = nvptx.emit(nest)
        kernel = kernels.setdefault(text, None) or Simulated(kernel_text([text]))
        kernels[text] = kernel
        expected = c.execute(lowering(graph), inputs)
        shifted = []
        for x in inputs:                                     # an address that is no multiple of a vector's bytes
            room = np.empty(x.size + 1, x.dtype)
            room[1:] = x.reshape(-1)
            shifted.append(room[1:].reshape(x.shape))
        tolerance = 2e-2 if "bfloat16" in name else 3e-5
        for given, threads, backwards in ((inputs, 32, False), (inputs, 64, True), (shifted, 64, True)):
            for out, want in zip(run_simulated(kernel, nest, given, None, threads, 2, backwards), expected):
                np.testing.assert_allclose(out.astype(np.float64), want.astype(np.float64), rtol=tolerance, atol=tolerance)
    assert "norm" in name or len(kernels) == 2               # no length but 3 is in the text


LOAD = re.compile(r'^  (%"[^"]+") = load ([\w]+), \2 addrspace\(1\)\* (%"[^"]+").*$', re.MULTILINE)


def reads(graph, threads, shift=0):
    """For each input how often each element was read, in a run of the simulator with so many threads of a block."""
    nest, inputs = for_gpu(graph), inputs_of(graph)
    outs = [np.empty([evaluate(s, None) for s in o.operand.shape], np.float32) for o in nest.outputs]
    sizes = [64 + x.size for x in inputs]
    room = np.zeros(2 * sum(sizes), np.float32)              # the elements, then as many counters
    starts, counters = [sum(sizes[:k]) + shift for k in range(len(sizes))], sum(sizes)

    def counting(found):
        kind, pointer = found.group(2), found.group(3)
        name = found.group(1)[2:-1]
        many = {"float": 1, "i128": 4}[kind]
        lines = [found.group(0), f'  %"at{name}" = bitcast {kind} addrspace(1)* {pointer} to i32 addrspace(1)*']
        for k in range(many):
            lines += [f'  %"to{name}.{k}" = getelementptr i32, i32 addrspace(1)* %"at{name}", i64 {counters + k}',
                      f'  %"had{name}.{k}" = load i32, i32 addrspace(1)* %"to{name}.{k}"',
                      f'  %"has{name}.{k}" = add i32 %"had{name}.{k}", 1',
                      f'  store i32 %"has{name}.{k}", i32 addrspace(1)* %"to{name}.{k}"']
        return "\n".join(lines)
    text = LOAD.sub(counting, nvptx.emit(nest))
    assert "counters" not in text and text.count("= load") > nvptx.emit(nest).count("= load")
    for start, x in zip(starts, inputs):
        room[start:start + x.size] = x.reshape(-1)
    words = [evaluate(nest.extent, None), 1, *(room.ctypes.data + 4 * start for start in starts), *(o.ctypes.data for o in outs),
             *(evaluate(s, None) for s in nest.sizes.values())]
    assert Simulated(kernel_text([text])).run(np.array(words, np.int64), threads, 1, False)
    for out, want in zip(outs, c.execute(lowering(graph), inputs)):
        np.testing.assert_allclose(out, want, rtol=3e-5, atol=3e-5)
    return {o.name: room[counters + start:counters + start + x.size].view(np.int32)
            for o, start, x in zip(nest.inputs, starts, inputs)}


@runs_here
@pytest.mark.parametrize("name", [name for name in ROWS if "float" not in name and name != "argmax"])
def test_each_element_of_a_row_is_read_once(name):
    rows, length = 3, 500
    graph = ROWS[name](rows, length)
    for operand, (array, counts) in zip(graph.parameters, reads(graph, 32).items()):
        if len(operand.abstract.shape) == 2:                 # not the factors of a norm, which all rows read
            assert counts.min() == counts.max() == 1, (array, counts.min(), counts.max())


@runs_here
@pytest.mark.parametrize("length, shift", [(1032, 0), (513, 0), (516, 1)], ids=["long", "no multiple of 16 bytes", "shifted"])
def test_a_row_that_does_not_fit_is_read_again(length, shift):
    counts, = reads(ROWS["softmax"](2, length), 32, shift).values()
    assert counts.min() == counts.max() == 3


@runs_here
@pytest.mark.parametrize("length, shift", [(1, 0), (501, 0), (500, 1), (512, 1)])
def test_a_row_that_begins_at_any_address_is_read_once_where_half_as_many_registers_hold_it(length, shift):
    counts, = reads(ROWS["softmax"](2, length), 32, shift).values()
    assert counts.min() == counts.max() == 1


@pytest.mark.parametrize("name", ROWS)
def test_elements_come_128_bits_at_a_time_and_nothing_is_spilled(name, tmp_path):
    graph = ROWS[name](5, 77)
    nest, kept = emitted(graph)
    text = ptx(kernel_text([nvptx.emit(nest)]), "sm_90")
    bits = {8 * e.fields[0].dtype.itemsize * kept.side for e in kept.places.values()}
    loops = sum(1 if place in kept.own else sum(place in found for found in kept.reads.values()) for place in kept.places)
    assert bits == {128} and text.count("ld.global.v2.b64") == kept.many // kept.side * loops and ".local" not in text
    if ptxas() is not None:
        registers, *memory = assembled(text, "sm_90", tmp_path)
        assert registers <= 128 and memory == [0, 0]         # two blocks on a multiprocessor


def test_work_that_is_long_keeps_fewer_elements_or_none(monkeypatch):
    many = emitted(ROWS["softmax"](5, 77))[1].many
    monkeypatch.setattr(kept_rows, "MOST_WORK", 150)
    assert many == kept_rows.MOST > emitted(ROWS["softmax"](5, 77))[1].many
    monkeypatch.setattr(kept_rows, "MOST_WORK", 10)
    assert emitted(ROWS["softmax"](5, 77))[1] is None
