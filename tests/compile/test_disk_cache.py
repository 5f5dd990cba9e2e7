"""Compiled functions on the disk: taken where nothing has changed, and never where something has.

A module is written, loaded, and its `run` called, which compiles and keeps; then it is loaded anew, as another process would
load it: other functions, classes, Cells and Parameters. What was done is read from the events.
"""
import importlib.util
import json
import logging
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import mindlite
from mindlite import Parameter, Tensor, nn, ops
from mindlite.common.config import config
from mindlite.common.errors import InternalError
from mindlite.common.events import counting
from mindlite.compile import disk_cache, flow, flow_text
from mindlite.compile.jit import JitFunction
from mindlite.backend import kernel_cache as cache

MODULE = '''
import numpy as np
import mindlite as ms
from mindlite import nn, ops

SCALE, NAMES, TABLE = 2.0, ("a", "b"), {"shift": 1.0}
WEIGHTS = np.array([1.0, 2.0, 3.0], np.float32)


def helper(x, by=3.0):
    return x * by


def make(bias):
    def inside(x):
        return x + bias
    return inside


add = make(0.5)


class Base(nn.Cell):
    step = 1.0

    @property
    def twice(self):
        return 2 * self.step


class Net(Base):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(np.arange(3, dtype=np.float32), name="w")
        self.v = self.w
        self.extra = ms.Parameter(np.ones(3, np.float32), name="extra")
        self.layers, self.flag = nn.CellList([nn.Dense(3, 3, "ones", "ones"), nn.ReLU()]), True

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        y = self.w * x + self.twice if self.flag else x - self.v
        return y * self.extra if self.training else y


net = Net()


def step(x, n):
    y = helper(add(x)) * SCALE + TABLE["shift"] + len(NAMES)
    y = y * ms.Tensor(WEIGHTS)
    return net(y) * n + ops.tanh(x).sum()


gradients = ms.value_and_grad(lambda x: step(x, 2).sum(), 0, [net.w])


def train(x):
    return gradients(x)


run = ms.jit(step)
run_train = ms.jit(train)
plain, plain_train = step, train
'''
X = np.linspace(-1, 2, 6, dtype=np.float32).reshape(2, 3)


@pytest.fixture
def disk(tmp_path):
    """A cache directory of its own, in which compiled functions are cached."""
    before = config.set(cache_dir=str(tmp_path / "cache"), keep_flows=True)
    yield tmp_path / "cache"
    config.set(**before)


@pytest.fixture
def load(tmp_path, disk):
    """Load a module, given its text, from one file, as a new process would."""
    def load(text=MODULE):
        path = tmp_path / "users_module.py"
        path.write_text(text)
        os.utime(path, ns=(load.time, load.time))            # the lines are read again
        load.time += 10**9
        spec = importlib.util.spec_from_file_location("users_module", path)
        made = sys.modules["users_module"] = importlib.util.module_from_spec(spec)
        sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
        try:
            spec.loader.exec_module(made)
        finally:
            sys.dont_write_bytecode = before
        return made
    load.time = 10**18
    yield load
    sys.modules.pop("users_module", None)


def flat(value):
    if isinstance(value, (tuple, list)):
        return [x for v in value for x in flat(v)]
    return [value.asnumpy()]


def called(f, *args, plain=None):
    """("compiled" or "restored", results) of a call; the results must be those of Python."""
    with counting() as counts:
        got = flat(f(*args))
    for g, w in zip(got, flat((plain or f.__wrapped__)(*args)), strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)
    return ("restored" if counts.get("flow_restore") else "compiled" if counts.get("compile") else "known"), got


# ------------------------------------------------------------------ what is the same

def test_what_was_compiled_once_is_taken_from_the_disk(load):
    first = load()
    way, results = called(first.run, Tensor(X), 2)
    trained = called(first.run_train, Tensor(X))
    assert way == trained[0] == "compiled" and first.run.compiled.variants[0].compiled.not_cached == ""
    again = load()
    for f, args, before in ((again.run, (Tensor(X), 2), results), (again.run_train, (Tensor(X),), trained[1])):
        way, got = called(f, *args)
        assert way == "restored" and all(np.array_equal(g, b) for g, b in zip(got, before))
        assert called(f, *args)[0] == "known"
    assert "taken from the disk" in again.run.explain() and "compiled in" in first.run.explain()
    assert again.run.explain().count("Net") == first.run.explain().count("Net")


def test_what_was_taken_from_the_disk_is_guarded_as_what_was_compiled(load):
    load().run(Tensor(X), 2)
    again = load()
    assert called(again.run, Tensor(X), 2)[0] == "restored"
    again.SCALE = 5.0
    assert called(again.run, Tensor(X), 2)[0] == "compiled"
    again.net.set_train()
    assert called(again.run, Tensor(X), 2)[0] == "compiled"
    again.net.w.set_data(Tensor(np.full(3, 7, np.float32)))          # values are read when it runs
    assert called(again.run, Tensor(X), 2)[0] == "known"


def test_of_a_large_container_what_was_read_counts(load):
    """Its items are not described in the file: the first call of a function that reads one of a million took a second."""
    text = MODULE + """
ROWS, WORDS = list(range(1000)), {f"w{i}": [i, [i]] for i in range(1000)}
def read(x):
    return x * ROWS[3] + len(ROWS) + WORDS["w7"][1][0] + WORDS.get("no", 3) + ("w8" in WORDS)
run_read = ms.jit(read)
"""
    assert called(load(text).run_read, Tensor(X))[0] == "compiled"
    for change, way in (("ROWS[500] = WORDS['w500'] = 'other'", "restored"), ("ROWS[3] = 77", "compiled"),
                        ("ROWS.append(1)", "compiled"), ("WORDS['w7'][1][0] = 0", "compiled"), ("WORDS['no'] = 1", "compiled"),
                        ("del WORDS['w8']", "compiled"), ("pass", "restored")):
        assert called(load(text + change + "\n").run_read, Tensor(X))[0] == way, change
    assert not [path for path in pathlib.Path(config.cache_dir).rglob("*.flow") if b"w500" in path.read_bytes()]


def test_parameters_are_written_by_what_was_taken_from_the_disk(load):
    text = MODULE + '''
optimiser = nn.Adam([net.w, net.extra], 0.1)
def update(x):
    loss, grads = ms.value_and_grad(lambda x: step(x, 1).sum(), None, [net.w, net.extra])(x)
    optimiser(grads)
    return loss
run_update = ms.jit(update)
'''
    first, again = load(text), load(text)
    for _ in range(3):
        with counting() as counts:
            a, b = first.run_update(Tensor(X)), again.run_update(Tensor(X))
        assert a.asnumpy() == b.asnumpy() and np.array_equal(first.net.w.asnumpy(), again.net.w.asnumpy())
    assert not counts.get("compile") and again.run_update.compiled.variants[0].compiled.from_disk
    assert not np.array_equal(again.net.w.asnumpy(), np.arange(3))


def test_storage_is_planned_and_packed_once_for_all_processes(load, monkeypatch):
    first = load()
    first.run_train(Tensor(X))

    def never(*args):
        raise AssertionError("planned again")
    for name in ("plan", "hoist_checks"):
        monkeypatch.setattr(f"mindlite.compile.executable.{name}", never)
    monkeypatch.setattr("mindlite.compile.memory.pack", never)
    again = load()
    assert called(again.run_train, Tensor(X))[0] == "restored"
    ours, theirs = (m.run_train.compiled.variants[0].executable.plan for m in (again, first))
    assert ours.storages and ours.layouts == theirs.layouts and str(ours) == str(theirs) and ours.sites == theirs.sites


def test_people_can_look_inside_what_was_taken_from_the_disk(load):
    first = load()
    first.run(Tensor(X), 2)
    again = load()
    again.run(Tensor(X), 2)
    assert str(again.run.graph("plan")) == str(first.run.graph("plan"))
    assert [k.source for k in again.run.kernels()] == [k.source for k in first.run.kernels()]
    assert again.run.source() == first.run.source()


def test_a_gradient_of_a_call_taken_from_the_disk_is_right(load):
    load().run(Tensor(X), 2)
    again = load()
    assert called(again.run, Tensor(X), 2)[0] == "restored"
    got = mindlite.grad(lambda x: again.run(x, 2).sum())(Tensor(X))
    np.testing.assert_allclose(got.asnumpy(), mindlite.grad(lambda x: again.plain(x, 2).sum())(Tensor(X)).asnumpy(), rtol=1e-5)


# ------------------------------------------------------------------ what has changed

CHANGES = {
    "the function": ("y * ms.Tensor(WEIGHTS)", "y - ms.Tensor(WEIGHTS)"),
    "a function it calls": ("return x * by", "return x / by"),
    "a default argument": ("by=3.0", "by=4.0"),
    "a global number": ("SCALE, NAMES, TABLE = 2.0", "SCALE, NAMES, TABLE = 2.5"),
    "the type of a global number": ("SCALE, NAMES, TABLE = 2.0", "SCALE, NAMES, TABLE = 2"),
    "a tuple": ('("a", "b")', '("a", "b", "c")'),
    "what a dict holds": ('{"shift": 1.0}', '{"shift": -1.0}'),
    "a closure cell": ("make(0.5)", "make(0.25)"),
    "the code of a closure": ("return x + bias", "return bias - x"),
    "a class attribute": ("step = 1.0", "step = 4.0"),
    "a property": ("return 2 * self.step", "return 3 * self.step"),
    "an attribute of a Cell": ("]), True", "]), False"),
    "a layer": ("nn.ReLU()", "nn.Tanh()"),
    "the number of layers": ("nn.ReLU()]", "nn.ReLU(), nn.ReLU()]"),
    "construct": ("self.w * x + self.twice", "self.w * x - self.twice"),
    "the dtype of a Parameter": ("np.arange(3, dtype=np.float32)", "np.arange(3, dtype=np.float64)"),
    "the shape of a Parameter": ("np.arange(3, dtype=np.float32)", "np.ones(1, np.float32)"),
    "a base class": ("class Net(Base)", "class Other(Base):\n    step = 9.0\n\n\nclass Net(Other)"),
    "a builtin that a global hides": ("WEIGHTS = np", "len = lambda x: 17\nWEIGHTS = np"),
    "the mode of training": ("net = Net()", "net = Net().set_train()"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_change_is_seen(load, what):
    """After a change the function is compiled; what was cached before it is still right for what was before."""
    old, new = CHANGES[what]
    assert old in MODULE
    called(load().run, Tensor(X), 2)
    changed = load(MODULE.replace(old, new))
    assert called(changed.run, Tensor(X), 2)[0] == "compiled"
    assert called(load().run, Tensor(X), 2)[0] == "restored"
    assert called(load(MODULE.replace(old, new)).run, Tensor(X), 2)[0] == "restored"


GRADIENT_CHANGES = {
    "what is differentiated by": ("0, [net.w]", "0, [net.extra]"),
    "the function that is differentiated": ("step(x, 2).sum()", "step(x, 3).sum()"),
    "which Parameters are one": ("self.v = self.w", "self.v = ms.Parameter(np.arange(3, dtype=np.float32), name='v')"),
    "requires_grad": ('name="w")', 'name="w", requires_grad=False)'),
}


@pytest.mark.parametrize("what", GRADIENT_CHANGES)
def test_a_change_of_a_gradient_is_seen(load, what):
    old, new = GRADIENT_CHANGES[what]
    text = MODULE.replace("]), True", "]), False")                       # self.v is read
    assert old in text
    called(load(text).run_train, Tensor(X))
    assert called(load(text.replace(old, new)).run_train, Tensor(X))[0] == "compiled"
    assert called(load(text).run_train, Tensor(X))[0] == "restored"


def test_changes_of_objects_before_the_first_call_are_seen(load):
    called(load().run, Tensor(X), 2)

    def hooked(m):
        m.net.register_forward_hook(lambda cell, inputs, output: output * 2)

    def other_table(m):
        m.TABLE["shift"] = 12.0

    def other_method(m):
        type(m.net).construct = lambda self, x: x * self.w - 1

    def other_weights(m):
        m.WEIGHTS[0] = 100

    def cast(m):
        m.net.to_float(mindlite.float16)
    for change in (hooked, other_table, other_method, other_weights):
        changed = load()
        change(changed)
        assert called(changed.run, Tensor(X), 2)[0] == "compiled", change.__name__
    changed = load()
    cast(changed)
    with counting() as counts:
        changed.run(Tensor(X), 2)
    assert counts["compile"] and not counts.get("flow_restore")
    assert called(load().run, Tensor(X), 2)[0] == "restored"


def test_other_kinds_of_arguments_are_another_question(load):
    called(load().run, Tensor(X), 2)
    for args in ((Tensor(X), 3), (Tensor(X[:1]), 2), (Tensor(X.astype(np.float64)), 2), (Tensor(X), 2.0),
                 (Parameter(X, name="x"), 2)):
        assert called(load().run, *args)[0] == "compiled"
        assert called(load().run, *args)[0] == "restored"


def test_switches_and_versions_are_part_of_the_question(load, monkeypatch):
    called(load().run, Tensor(X), 2)
    for name, value in (("jit_level", "O0"), ("verify", True), ("onednn", False), ("printer", "python")):
        before = config.set(**{name: value})
        try:
            assert called(load().run, Tensor(X), 2)[0] == "compiled", name
        finally:
            config.set(**before)
    monkeypatch.setattr(disk_cache, "versions", lambda real=disk_cache.versions(): ["another mindlite", *real[1:]])
    assert called(load().run, Tensor(X), 2)[0] == "compiled"


def test_the_version_is_a_hash_of_all_sources_and_names_the_processor():
    said = disk_cache.versions()
    assert np.__version__ in said and any(len(str(part)) == 64 for part in said) and "-" in said[-1]


def test_one_function_with_two_networks_has_two_answers(load):
    text = MODULE.replace("    return net(y)", "    return chosen(y)") + "chosen = net\n"
    called(load(text).run, Tensor(X), 2)
    for other in ("nn.Tanh()", "nn.Dense(3, 2)", "nn.Dense(3, 2, has_bias=False)"):
        changed = load(text)
        changed.chosen = eval(other, {"nn": nn})
        assert called(changed.run, Tensor(X), 2)[0] == "compiled"
    folders = {path.parent for path in pathlib.Path(config.cache_dir).rglob("*.flow")}
    assert len(folders) == 1 and called(load(text).run, Tensor(X), 2)[0] == "restored"


def test_not_more_than_a_few_answers_are_cached(load, disk):
    for number in range(disk_cache.MOST + 3):
        changed = load()
        changed.TABLE["shift"] = float(number)
        changed.run(Tensor(X), 2)
    assert len(list(disk.rglob("*.flow"))) == disk_cache.MOST


# ------------------------------------------------------------------ what is not cached

def test_explain_says_why_a_function_is_not_cached(disk, load):
    words, seen = {"b", "a"}, []
    cases = {
        "runs in Python": lambda x: (seen.append(x), x * 2)[1],
        "id()": lambda x: x * (id(words) % 2),
        "exception of the user's": load(MODULE + '''
def bad(x):
    if x.sum() > 100:
        raise ValueError("too large")
    return x * 2
''').bad,
    }
    for why, function in cases.items():
        f = JitFunction(function)
        f(Tensor(X))
        f(Tensor(X))
        assert f.variants and why in f.explain(), f.explain()
    assert not list(disk.rglob("*.flow"))


def test_nothing_is_kept_where_it_is_switched_off(disk, load):
    config.set(keep_flows=False)
    f = load().run
    f(Tensor(X), 2)
    assert not list(disk.rglob("*.flow")) and "not cached" not in f.explain()


# ------------------------------------------------------------------ files

def files(disk, suffix):
    return [path for path in disk.rglob(f"*{suffix}") if path.is_file()]


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_a_damaged_file_is_told_of_and_made_anew(load, disk, caplog, damage):
    called(load().run, Tensor(X), 2)
    path, = files(disk, ".flow")
    good = path.read_bytes()
    middle = len(good) // 2
    path.write_bytes({"cut": good[:middle], "empty": b"", "other": b"something else",
                      "changed": good[:middle] + bytes([good[middle] ^ 1]) + good[middle + 1:]}[damage])
    with caplog.at_level(logging.WARNING, "mindlite"):
        assert called(load().run, Tensor(X), 2)[0] == "compiled"
    assert "damaged" in caplog.text and str(path) in caplog.text
    assert path.read_bytes() == good and called(load().run, Tensor(X), 2)[0] == "restored"


def test_a_file_with_a_right_checksum_and_wrong_content_is_told_of(load, disk, caplog):
    called(load().run, Tensor(X), 2)
    path, = files(disk, ".flow")
    change(path, lambda entry: entry["program"].pop(1))
    with caplog.at_level(logging.WARNING, "mindlite"):
        assert called(load().run, Tensor(X), 2)[0] == "compiled"
    assert "cannot be read" in caplog.text


def change(path, how):
    """Change what a file tells, with a right checksum."""
    text, data = disk_cache.read(path)
    how(text["entry"])
    path.unlink()
    disk_cache.write(path.parent, text, [np.frombuffer(data, np.uint8)])
    assert path.exists()


def linked_of(function):
    return function.variants[0].compiled.executable.linked


def test_a_flow_is_read_when_somebody_looks_at_it(load, disk):
    compiled, restored = (load().run for _ in range(2))
    assert called(compiled, Tensor(X), 2)[0] == "compiled" and called(restored, Tensor(X), 2)[0] == "restored"
    first, second = linked_of(compiled), linked_of(restored)
    body, plan = second.program.entry.body, second.plan
    assert "instructions" not in vars(body) and "storages" not in vars(plan)
    assert str(second.program) == str(first.program) and str(plan) == str(first.plan)
    assert [type(i) for i in second.places] == [type(i) for i in first.places]
    assert second.kinds_of(0) == first.kinds_of(0) and second.frame_bytes == first.frame_bytes
    assert body.instructions and plan.storages == first.plan.storages


def test_a_run_that_calls_python_reads_no_flow(disk):
    def factor(x):
        return ops.svd(x, compute_uv=False) + 1
    first, second = JitFunction(factor), JitFunction(factor)
    x = Tensor(np.array([[3.0, 1.0], [1.0, 2.0]], np.float32))
    assert called(first, x, plain=factor)[0] == "compiled" and called(second, x, plain=factor)[0] == "restored"
    linked = linked_of(second)
    assert linked.has_python and linked.segments.keys() == linked_of(first).segments.keys()
    assert "places" not in vars(linked) and "instructions" not in vars(linked.program.entry.body)


def test_a_flow_that_is_looked_at_goes_through_the_verifier(load, disk):
    called(load().run, Tensor(X), 2)
    path, = files(disk, ".flow")

    def replace(entry):
        entry["program"][1][4][1][1] = ["Arith", 900, "add", 901, 902]
    change(path, replace)
    run = load().run
    assert called(run, Tensor(X), 2)[0] == "restored"
    with pytest.raises(InternalError, match="%901 is read where it has no value"):
        linked_of(run).places


def test_without_its_object_code_a_flow_is_printed_again(load, disk):
    called(load().run, Tensor(X), 2)
    for path in files(disk, ".o"):
        if path.name.startswith("native"):
            path.unlink()
    assert called(load().run, Tensor(X), 2)[0] == "restored"
    assert any(path.name.startswith("native") for path in files(disk, ".o"))


def test_without_the_object_code_of_a_kernel_it_is_compiled_again(load, disk):
    called(load().run, Tensor(X), 2)
    for path in files(disk, ".o"):
        path.unlink()
    cache.forget()
    assert called(load().run, Tensor(X), 2)[0] == "compiled"
    assert called(load().run, Tensor(X), 2)[0] == "restored"


PROGRAM = '''
import json
import mindlite as ms, numpy as np
from mindlite import nn
from mindlite.common.events import counting
ms.set_seed(3)
net = nn.SequentialCell(nn.Conv2d(1, 2, 3, weight_init="ones"), nn.ReLU(), nn.Flatten(),
                        nn.Dense(2 * 6 * 6, 4, weight_init="ones"), nn.Dropout(p=0.5)).set_train()
loss_fn = nn.CrossEntropyLoss()
optimiser = nn.Adam(net.trainable_params(), 0.01)
gradients = ms.value_and_grad(lambda x, y: loss_fn(net(x), y), None, optimiser.parameters)
@ms.jit
def step(x, y):
    loss, grads = gradients(x, y)
    optimiser(grads)
    return loss
x = ms.Tensor(np.linspace(0, 1, 2 * 36, dtype=np.float32).reshape(2, 1, 6, 6))
y = ms.Tensor(np.array([1, 3], np.int32))
with counting() as counts:
    losses = [float(step(x, y)) for _ in range(3)]
print(json.dumps({"losses": losses, "counts": dict(counts)}))
'''


def test_processes_that_write_at_the_same_time_leave_one_whole_file(tmp_path):
    """Three processes at once, then one more: it compiles nothing, and all compute the same."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    environment = {**os.environ, "MINDLITE_CACHE_DIR": str(tmp_path / "cache"), "MINDLITE_KEEP_FLOWS": "1",
                   "PYTHONPATH": str(pathlib.Path(mindlite.__file__).parents[1])}

    def start():
        return subprocess.Popen([sys.executable, str(program)], env=environment, stdout=subprocess.PIPE, text=True)
    first = [json.loads(p.communicate()[0]) for p in [start() for _ in range(3)]]
    last = json.loads(start().communicate()[0])
    assert all(f["losses"] == last["losses"] for f in first) and len(set(last["losses"])) == 3
    assert len(files(tmp_path / "cache", ".flow")) == 1 and not files(tmp_path / "cache", "writing-*")
    assert last["counts"]["flow_restore"] == 1
    assert not {"compile", "kernel_compile", "flow_compile"} & last["counts"].keys()


def test_a_loop_and_a_branch_of_the_data_are_cached(disk):
    def f(x):
        total = x * 0
        while total.sum() < 10:
            total = total + (x if total.sum() > 3 else ops.exp(x))
        return total, x.shape[0]
    for way in ("compiled", "restored"):
        with counting() as counts:
            got, n = JitFunction(f)(Tensor(X))
        np.testing.assert_allclose(got.asnumpy(), f(Tensor(X))[0].asnumpy(), rtol=1e-5)
        assert n == 2 and bool(counts.get("flow_restore")) is (way == "restored")


def test_constant_arrays_are_cached(disk):
    table = np.random.default_rng(0).normal(size=(40, 3)).astype(np.float32)

    def f(x):
        return (x @ Tensor(table).T).sum(0) @ ops.tril(ops.ones((40, 40))), ops.arange(0, 100, 7)
    for way in ("compiled", "restored"):
        assert called(JitFunction(f), Tensor(X), plain=f)[0] == way
    table[3, 1] += 1
    assert called(JitFunction(f), Tensor(X), plain=f)[0] == "compiled"


def test_every_instruction_has_a_form_in_the_file():
    def below(cls):
        return {cls}.union(*map(below, cls.__subclasses__()))
    names = {cls.__name__ for cls in below(flow.Instruction) if not cls.__name__.startswith("_")} - {"Instruction"}
    assert len(names) > 20 and names <= set(flow_text.RECORDS)


def test_open_sizes_are_cached(disk):
    def f(x):
        return ops.softmax(x * 2, -1).sum(0)
    for way in ("compiled", "restored"):
        jitted = JitFunction(f, dynamic=1)
        with counting() as counts:
            for rows in (2, 5, 1):
                x = Tensor(np.random.default_rng(rows).normal(size=(rows, 4)).astype(np.float32))
                np.testing.assert_allclose(jitted(x).asnumpy(), f(x).asnumpy(), rtol=1e-5)
        assert len(jitted.variants) == 1 and bool(counts.get("flow_restore")) is (way == "restored")
