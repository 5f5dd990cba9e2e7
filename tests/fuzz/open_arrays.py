"""Random functions of arrays whose sizes are open: one compiled function, called with sizes that it has not seen.

    python tests/fuzz/open_arrays.py --count 1000 --seed 0 [--first 0] [--operator NAME]

`random_arrays.py` varies sizes and dtypes. Here it is what a compiler knows of a size: each axis of each operand is open or not
(by `dynamic=1`, `input_signature`, `Symbol`, `enable_dynamic`, `set_inputs`, or from the second size on), and some operands are
Parameters and constants outside, of known sizes. So known sizes meet open ones, also where they are only known to agree when it
runs. Half of the programs begin with an operator of the table, at the sizes of one of its samples and at others;
its operands come through views, joins and gathers that change nothing, and statements as in `random_arrays.py` follow.

The reference is NumPy (the eval rules, gradients on tapes) at six sets of sizes, with 0, 1, 2 and a larger one among them:
values, gradients of all operands that are floats, and in some programs second gradients, jvp, vmap over gradients, and the
compiled function on a tape. Where the reference raises, eager mode and the graph must raise an error of the same type.
Everything follows from the seed.
"""
import argparse
import collections
import random
import sys
import time
import traceback
from dataclasses import dataclass

import numpy as np
from random_arrays import (ALONG, FLOATS, LARGEST, PAIRS, REDUCED, ROUNDING, SHAPED, SIZES, SMOOTH, Difference, Writer, as64,
                           as_said, compiled, flat, is_float, is_tame, room, unlike, values)

import mindlite as ms
from mindlite import Parameter, Tensor
from mindlite.common.config import config
from mindlite.common.dtype import DType
from mindlite.common.errors import GraphSyntaxError, InternalError
from mindlite.mindir.primitive import PRIMITIVES, eager

HEAD = ("import numpy as np\nimport mindlite as ms\nfrom mindlite import Parameter, Tensor, mint, nn, ops\n"
        "from mindlite.mindir.primitive import find_primitive\n\n\n")
SETS = 6                                             # of sizes: the first, another, 1, 2, a larger one, 0
SMALL = (2, 3, 4, 5, 6, 7, 8, 9)
DISGUISES = ("ops.concat([{a}[:1], {a}[1:]])", "{a} * 1", "ops.flip(ops.flip({a}, ({i},)), ({i},))",
             "{a}.swapaxes({i}, -1).swapaxes({i}, -1)", "{a}.reshape(-1).reshape({a}.shape)", "ops.stack([{a}, {a} * 2])[0]",
             "ops.gather({a}, ops.arange({a}.shape[{i}]), {i})", "{a}[::-1][::-1]",
             "ops.tile({a}, (2,) * {a}.ndim)[:{a}.shape[0]][..., :{a}.shape[-1]].reshape({a}.shape)", "{a}[None][0]",
             "ops.where({a} == {a}, {a}, {a} * 2)",
             "ops.pad({a}, (1, 2))[..., 1:-2]", "ops.split({a}, {a}.shape[0])[0] if {a}.shape[0] == 1 else {a} + 0",
             "ops.broadcast_to({a}[None], (2, *{a}.shape))[1]",
             "({a}[None] + ops.zeros((2, 1), {a}.dtype).reshape(2, *[1] * {a}.ndim)).mean(0)",
             "ops.gather_elements({a}, 0, ops.zeros_like({a}).astype(ms.int64) + "
             "ops.arange({a}.shape[0]).reshape(-1, *[1] * ({a}.ndim - 1)))",
             "{a}.reshape({a}.shape[0], -1).T.T.reshape({a}.shape)")
JOINED = ("{a} @ {b}", "{a} @ {b}.T", "{a}.T @ {b}", "ops.matmul({a}.swapaxes(-1, -2), {b})", "ops.dense({a}, {b})",
          "ops.tensordot({a}, {b}, 1)", "ops.einsum('ij,jk->ki', {a}, {b})", "ops.einsum('ij,ij->i', {a}, {b})",
          "ops.einsum('i...,i...->...', {a}, {b})", "{a}.reshape({b}.shape)", "ops.broadcast_to({a}, {b}.shape)",
          "{a}[:{b}.shape[0]]", "ops.concat([{a}, {b}])", "ops.gather({a}, ops.arange({b}.shape[0]) % {a}.shape[0], 0)",
          "{a} * {b}[:1]", "{a} * {b}.sum(0)", "{a} + {b}.mean(-1, keep_dims=True)", "ops.kron({a}, {b})", "ops.cdist({a}, {b})",
          "ops.bmm({a}[None], {b}[None])", "ops.addmm({a}, {a}, {b})", "ops.baddbmm({a}[None], {a}[None], {b}[None])",
          "ops.index_add({a} * 1, ops.arange({b}.shape[0]).astype(ms.int32), {b}, 0)", "ops.meshgrid({a}, {b})[0]",
          "ops.conv1d({a}[None], {b}[:, :, None])", "ops.conv2d({a}[None, None], {b}[None, None, :2, :2])",
          "ops.softmax({a} @ {b}.T, -1) @ {b}", "ops.relu({a} @ {b}) * 0.5", "({a} @ {b}).sum(0)", "ops.outer({a}, {b})")
MOVED = ("{a}.reshape(-1, {a}.shape[-1])", "{a}.reshape({a}.shape[-1], -1)", "{a}.reshape({a}.shape[::-1])",
         "{a}.reshape({a}.shape[0] * {a}.shape[-1], -1)", "{a}.reshape(-1, 2)", "{a}.reshape(2, -1)", "{a}[:{a}.shape[0] // 2]",
         "{a}[{a}.shape[0] // 3:]", "{a} / {a}.shape[0]", "{a} * ops.arange({a}.shape[-1]).astype({a}.dtype)",
         "ops.concat([{a}, ops.zeros((2, *{a}.shape[1:]), {a}.dtype)])", "ops.concat([{a}, {a}[::-1]], {i})",
         "ops.gather({a}, ops.arange({a}.shape[{i}]) // 2, {i})", "ops.repeat_interleave({a}, 3, {i})", "{a}.T",
         "ops.tile({a}, (1, 2))", "ops.pad({a}, (2, 1), 'constant', 0.5)", "ops.roll({a}, 2, {i})", "{a}.unsqueeze({i})",
         "ops.unfold({a}[None, None], 2, 1, 1)", "ops.max_pool2d({a}[None, None], 2)", "ops.avg_pool2d({a}[None, None], 2, 1)",
         "ops.adaptive_avg_pool1d({a}[None], 1)", "{a} @ {a}.T", "{a}.T @ {a}", "ops.diff({a}, axis={i})",
         "{a}[:, None] - {a}[None]",
         "ops.cumsum({a}, {i})[..., -1]", "{a}.swapaxes(0, -1).reshape({a}.shape)",
         "ops.interpolate({a}[None, None], scale_factor=2.0)",
         "ops.tril({a} @ {a}.T)", "ops.stack([{a}, {a} * 2], {i}).reshape(-1, *{a}.shape[1:])", "{a}.expand_as({a}[None])",
         "{a}.view(-1)", "ops.full({a}.shape, 0.5, dtype={a}.dtype) * {a}", "ops.layer_norm({a}, ({a}.shape[-1],))",
         "{a}[..., ::2] * {a}[..., :({a}.shape[-1] + 1) // 2]", "ops.diag({a})",
         "ops.diagonal({a} @ {a}.T)", "{a}[1:] - {a}[:-1]",
         "{a}.flatten()[::3]", "ops.chunk({a}, 2, {i})[-1]", "ops.sum({a}, {i}, keepdim=True) * {a}", "{a}[{a}.shape[0] - 1]",
         "{a}[:, ops.arange({a}.shape[-1] - 1, -1, -1)]", "ops.scatter({a}, 0, ops.zeros_like({a}).astype(ms.int64), {a})")
LOOPS = ("{a} * 1\nfor k in range({a}.shape[0]):\n    {v} = {v} * 0.9 + {a}[k].sum() * 0.1",
         "{a}.sum() * 0\nfor row in {a}:\n    {v} = {v} + ops.tanh(row).sum()",
         "{a}[0]\nfor k in range(1, {a}.shape[0]):\n    {v} = ops.sin({v}) + {a}[k]")
STORES = ("{a} * 1\n{v}[0] = {v}[-1] * 0.5", "{a} * 1\n{v}[{a}.shape[0] // 2:] = 0.25", "{a} * 1\n{v}[1:] += {v}[:-1]",
          "{a} * 1\n{v}[..., ::2] *= 0.5", "{a} * 1\n{v}[..., 0] = {v}[..., -1]", "{a} * 1\n{v}[{v} > 0.5] = 0.5")
GROUPS = ((JOINED, 9), (MOVED, 9), (PAIRS, 5), (REDUCED, 6), (ALONG, 5), (SHAPED, 4), (SMOOTH, 5), (STORES, 1), (LOOPS, 1))
UNWANTED = ("random", "gamma_numbers", "all_", "broadcast_from", "reduce_", "placed", "assign", "stored", "summary", "print",
            "write_slice", "matmul_add", "_update", "scalar_to", "unique", "post", "receive", "send", "sampler")
WANTED = ("slice_update", "dynamic_update", "reduce_sum", "reduce_max", "reduce_min", "reduce_mean", "reduce_any", "reduce_all",
          "reduce_norm", "reduce_prod", "scatter_nd_update")
DECLARED = ("dynamic", "dynamic", "signature", "signature", "symbol", "enabled", "cell", "automatic")
PARTS = {"second": 0.25, "pushed": 0.2, "mapped": 0.25, "recorded": 0.3}


@dataclass(frozen=True)
class Operand:
    """name: in the text; shapes: at each set of sizes; base: the sample that it repeats, or None; open: for each axis the letter
    of its declared Symbol ("" where it is declared as it is); held: "Parameter", "Tensor" or "" for an argument"""
    name: str
    shapes: tuple
    kind: str
    number: int
    base: object
    open: tuple
    held: str

    def at(self, which, change=0.0, wide=False):
        """The Tensor at a set of sizes; change: the relative change of floats, wide: floats as float64"""
        array = values(self.shapes[which], self.kind, self.number + which) if self.base is None else \
            repeated(self.base, self.shapes[which], self.number + which)
        if self.kind not in FLOATS:
            return Tensor(array)
        array = as64(Tensor(array).astype(getattr(ms, self.kind)))       # so that float64 begins with the same numbers
        array = array * (1 + change * np.random.default_rng(self.number).uniform(-1, 1, array.shape))
        made = Tensor(array).astype(ms.float64 if wide else getattr(ms, self.kind))
        return Parameter(made, name=self.name) if self.held == "Parameter" else made


def repeated(base, shape, number):
    """An array of this shape whose numbers are those of `base`, again and again, a little apart where they are floats."""
    array = base
    for axis, size in enumerate(shape):
        array = np.take(array, np.arange(size) % array.shape[axis], axis)
    if shape == base.shape or base.dtype.kind != "f":
        return array
    array = array * (1 + np.random.default_rng(number).uniform(-0.02, 0.02, shape))
    if len(shape) > 1 and shape[-1] == shape[-2] and base.shape[-1] == base.shape[-2]:
        array = array + 2 * np.eye(shape[-1])
    return array


@dataclass(frozen=True)
class Case:
    """text: the source; operands: those that are arguments first; floats: which results are floats; declared, options: how it is
    compiled; parts: what is compared beside values and gradients; order: of the sets of sizes"""
    text: str
    operands: tuple
    floats: tuple
    outputs: int
    declared: str
    options: dict
    parts: tuple
    order: tuple
    lanes: int
    threads: int


class OpenWriter(Writer):
    """Draws statements by running them at all sets of sizes; needed: at how many beside the first they have to run"""

    def __init__(self, rng, operands):
        super().__init__(rng, ())
        self.spaces = [dict(self.space, nn=ms.nn) for _ in range(SETS)]
        for operand in operands:
            for which, space in enumerate(self.spaces):
                space[operand.name] = operand.at(which)
            self.names.append(operand.name)
        self.space, self.needed = self.spaces[0], rng.choice((0, 2, 3, 3))

    def define(self, line):
        """A line that holds at all sizes."""
        for space in self.spaces:
            exec(line, space)

    def run(self, statement):
        """As in Writer, at enough sets of sizes."""
        if not super().run(statement):
            return False
        others = sum(ran(statement, space) for space in self.spaces[1:])
        return others >= self.needed

    def statement(self):
        """One that runs, if TRIES draws have one."""
        name = f"v{len(self.lines)}"
        for _ in range(40):
            group = self.rng.choices([g for g, _ in GROUPS], [w for _, w in GROUPS])[0]
            if self.rng.random() < 0.1:
                lines = self.chosen(name)
            else:
                held = self.names
                lines = [f"{name} = {self.filled(self.rng.choice(group))}".replace("{v}", name)]
                self.names = held
            if all(map(self.run, lines)) and is_tame(self.space[name]):
                self.lines += lines
                self.names.append(name)
                return

    def filled(self, template):
        """A template of variables; the second one is any, four times of ten."""
        if self.rng.random() < 0.4:
            template = template.replace("{b}", self.pick())
        return super().filled(template)


def ran(statement, space):
    """True where a statement runs by the eval rules."""
    try:
        with eager():
            exec(statement, space)
    except Exception:
        return False
    return True


# ---------------------------------------------------------------- drawing

def sampled():
    """[(an operator's name, arguments, attributes)] of all samples whose numbers are real."""
    from samples import SAMPLES                              # loads all families
    found = []
    for name in sorted(SAMPLES):
        if "collective" in PRIMITIVES[name].traits or (any(word in name for word in UNWANTED) and name not in WANTED):
            continue
        for args, attrs in SAMPLES[name]:
            if any(isinstance(a, np.ndarray) for a in args) and not any(np.iscomplexobj(a) for a in args):
                found.append((name, args, attrs))
    return found


def sizes_of(rng, first, varies):
    """The size of a letter at each set."""
    if not varies:
        return (first,) * SETS
    kinds = (first, rng.choice(SMALL), 1, 2, 2 * first + rng.randint(1, 20), 0)
    return (first, *(k if rng.random() < 0.7 else rng.choice(SIZES[:12]) for k in kinds[1:]))


def drawn_operands(rng):
    """Some operands of letters, and no lines."""
    letters = "ABC" if rng.random() < 0.7 else "AB"
    large = rng.random() < 0.2
    first = {s: rng.choice(SIZES if large else SMALL) for s in letters}
    varying = [s for s in letters if rng.random() < 0.65] or ["A"]
    sizes = {s: sizes_of(rng, first[s], s in varying) for s in letters}
    dtype = rng.choice(("float32",) * 6 + ("float64",) * 4 + ("float16", "bfloat16"))
    shapes = [rng.choice(("A", "AB", "AB", "AB", "BA", "BC", "AA", "ABC", "BB"))]
    for _ in range(rng.randint(0, 2)):
        shapes.append(rng.choice(("A", "AB", "BA", "BC", "CB", "B", "C", "CC", "BB", "", shapes[0])))
    made = []
    for shape in shapes:
        shape = "".join(s for s in shape if s in letters)
        kind = dtype if not made or rng.random() < 0.85 else rng.choice(("int32", "bool", *FLOATS))
        made.append((shape, kind, None))
    return made, sizes, varying, []


def drawn_sample(rng, samples):
    """The operands of a sample of an operator, and the line that calls it; None where it does not run."""
    name, args, attrs = rng.choice(samples)
    sizes = sorted({n for a in args if isinstance(a, np.ndarray) for n in a.shape if n > 1})
    letters = dict(zip(sizes, "ABCDEFGH"))
    dtype = rng.choice(("float32",) * 3 + ("float64",) * 2 + ("float16",) * (rng.random() < 0.1))
    made, words = [], []
    for a in args:
        if isinstance(a, np.ndarray):
            words.append(f"y{len(made)}")
            kind = dtype if a.dtype.kind == "f" else a.dtype.name
            made.append(("".join(letters.get(n, "_") for n in a.shape), kind, a))
        else:
            words.append(repr(a))
    words += [f"{key}={'ms.' + value.name + '_' * (value.name == 'bool') if isinstance(value, DType) else repr(value)}"
              for key, value in attrs.items()]

    def runs(changed):
        operands = [Operand(f"y{k}", (tuple(changed.get(s, n) for s, n in zip(shape, a.shape)),), kind, 5, a, (), "")
                    for k, (shape, kind, a) in enumerate(made)]
        space = {f"p_{name}": PRIMITIVES[name], "ms": ms, **{o.name: o.at(0) for o in operands}}
        return ran(f"p_{name}({', '.join(words)})", space)
    if not runs({}):
        return None
    able = [s for s in letters.values() if runs({s: 1}) or runs({s: 11})]
    varying = [s for s in able if rng.random() < 0.8] or able[:1]
    if not varying:
        return None
    sizes = {s: sizes_of(rng, n, s in varying) for n, s in letters.items()}
    return made, {**sizes, "_": (1,) * SETS}, varying, [(name, ", ".join(words))]


_samples = []


def case(seed, operator=None):
    """The Case of a seed; None where nothing that is a float came of it."""
    rng = random.Random(seed)
    if not _samples:
        _samples.extend(sampled())
    samples = [s for s in _samples if operator in (None, s[0])]
    drawn = drawn_sample(rng, samples) if operator or rng.random() < 0.5 else drawn_operands(rng)
    if drawn is None:
        return None
    made, sizes, varying, calls = drawn
    declared = rng.choice(DECLARED)
    operands = []
    for k, (shape, kind, base) in enumerate(made):
        known = not set(shape) & set(varying) and k > 0
        held = rng.choice(("Parameter", "Parameter", "Tensor", "")) if known else ""
        if kind not in FLOATS and held == "Parameter":
            held = "Tensor"
        opened = tuple(s if s in varying or s != "_" and rng.random() < 0.4 else "" for s in shape)
        shapes = tuple(tuple(sizes[s][which] for s in shape) for which in range(SETS))
        operands.append(Operand(f"{'w' if held else 'x'}{k}", shapes, kind, rng.randrange(1 << 30), base, opened, held))
    if max(np.prod(shape, dtype=int) for o in operands for shape in o.shapes) > LARGEST:
        return None
    writer = OpenWriter(rng, operands)
    head = HEAD
    for name, words in calls:
        head += f"p_{name} = find_primitive({name!r})\n"
        writer.define(f"from mindlite.mindir.primitive import find_primitive\np_{name} = find_primitive({name!r})")
        if not disguise(writer, operands, f"p_{name}({words})"):
            return None
    for _ in range(rng.randint(1, 4)):
        writer.statement()
    new = writer.names[len(operands):]
    new = [name for name in new if not name.startswith("y")] or new
    if not new:
        return None
    kept = sorted({new[-1], *rng.sample(new, min(len(new), rng.choice((0, 0, 1, 2))))})
    floats = tuple(k for k, name in enumerate(kept) if is_float(writer.space[name]))
    if not floats:
        return None
    operands = tuple(sorted(operands, key=lambda o: bool(o.held)))
    options = {"printer": rng.choice(("native",) * 5 + ("python", "vm")), "jit_level": rng.choice(("O1",) * 6 + ("O0",))}
    parts = tuple(part for part, share in PARTS.items() if rng.random() < share)
    order = (0, *rng.sample(range(1, SETS), SETS - 1), 0)
    return Case(head + source(writer.lines, kept, floats, operands), operands, floats, len(kept), declared, options, parts, order,
                rng.choice((4, 8, 8, 16)), rng.choice((1, 2)))


def disguise(writer, operands, call):
    """Write a call of operands y0, y1, .. that come through up to two disguises each; False where it does not run."""
    rng = writer.rng
    for k, operand in enumerate(operands):
        lines = [f"y{k} = {operand.name}"]
        for _ in range(rng.choice((0, 1, 1, 2)) if operand.shapes[0] else 0):
            line = f"y{k} = " + rng.choice(DISGUISES).format(a=f"y{k}", i=rng.randrange(len(operand.shapes[0])))
            writer.run(lines[0])
            if all(writer.run(one) for one in (*lines, line)):
                lines.append(line)
        if not all(map(writer.run, lines)):
            return False
        writer.lines += lines
    if not writer.run(f"out = {call}"):
        return False
    out = writer.space["out"]
    names = [f"u{k}" for k in range(len(out))] if isinstance(out, tuple) else ["u"]
    line = f"{', '.join(names)} = {call}"
    writer.run(line)
    writer.lines.append(line)
    for name in names:
        if not is_tame(writer.space[name]):
            return False
        writer.names.append(name)
    return True


def source(lines, kept, floats, operands):
    """The text of f, its gradients, and what is made of them."""
    given, held = [o for o in operands if not o.held], [o for o in operands if o.held == "Parameter"]
    xs, cs = ", ".join(o.name for o in given), ", ".join(f"c{k}" for k in range(len(floats)))
    moved = [o.name for o in given if o.kind in FLOATS]
    ds = ", ".join(f"d{name[1:]}" for name in moved)
    by = tuple(k for k, o in enumerate(given) if o.kind in FLOATS)
    total = " + ".join(f"(found[{k}].astype(ms.float64) * c{j}).sum()" for j, k in enumerate(floats))
    body = "".join("    " + line.replace("\n", "\n    ") + "\n" for line in lines)
    weights = f"[{', '.join(o.name for o in held)}]"
    grad = f"ms.grad(total, {by or None}, {weights})({xs})" if held else f"ms.grad(total, {by})({xs})"
    by_all = f"({'given, ' if len(by) == 1 else '*given, '}*held)"
    whole = f"given, held = {grad}\n    return {by_all}" if held and by else f"return {grad}{',' * (len(by) == 1)}"
    along = " + ".join(f"(s[{k}].astype(ms.float64) * d{name[1:]}).sum()" for k, name in enumerate(moved))
    floats = ", ".join(f"found[{k}]" for k in floats)
    text = (f"def f({xs}):\n{body}    return {', '.join(kept)},\n\n\n"
            f"def slopes({xs}, {cs}):\n    def total({xs}):\n        found = f({xs})\n        return {total}\n"
            f"    {whole}\n\n\n"
            f"def everything({xs}, {cs}):\n    return f({xs}), slopes({xs}, {cs})\n\n\n"
            f"class Net(nn.Cell):\n    def construct(self, {xs}, {cs}):\n        return everything({xs}, {cs})\n")
    if moved:
        text += (f"\n\ndef second({xs}, {cs}, {ds}):\n    def along({xs}):\n        s = slopes({xs}, {cs})\n"
                 f"        return {along}\n"
                 f"    return ms.grad(along, {by})({xs})\n\n\n"
                 f"def pushed({xs}, {ds}):\n    def inner({', '.join(moved)}):\n        found = f({xs})\n"
                 f"        return {floats},\n"
                 f"    return ms.jvp(inner, ({', '.join(moved)},), ({ds},))[1]\n")
    return text


# ---------------------------------------------------------------- running

def space_of(made, text=None, **changed):
    """The namespace of the text, with the operands that are held outside."""
    space = compiled(text or made.text)
    space.update({o.name: o.at(0, **changed) for o in made.operands if o.held})
    return space


def weights_of(names, like, seed):
    """Tensors of float64, one for each Tensor in `like`: their values differ."""
    return [Tensor(values(t.shape, "float64", seed + k)) for k, t in enumerate(like)]


class Reference:
    """What the eval rules give for a function of the text at a set of sizes, and how far other ways may be from it.

    error: what it raises, None if it gives values
    """

    def __init__(self, made, part, which):
        self.made, self.part, self.which, self.error = made, part, which, None
        given = [o for o in made.operands if not o.held]
        self.xs = [o.at(which) for o in given]
        moved = [x for x, o in zip(self.xs, given) if o.kind in FLOATS]
        try:
            with eager():
                found = space_of(made)["f"](*self.xs)
            cs = weights_of("c", [found[k] for k in made.floats], 5)
            self.more = {"everything": cs, "second": cs + weights_of("d", moved, 50),
                         "pushed": [d.astype(x.dtype) for d, x in zip(weights_of("d", moved, 50), moved)]}[part]
            self.values = self.run()
        except Exception as error:
            self.error, self.more = error, None
            return
        kinds = {o.kind for o in made.operands if o.kind in FLOATS}
        kinds |= {kind for kind in FLOATS if f"ms.{kind})" in made.text.split("def slopes")[0]}
        kinds |= {str(v.dtype).lower() for v in self.values if is_float(v)} & set(FLOATS)
        self.rounding = max(ROUNDING[kind] for kind in kinds)
        others = [self.run(change=self.rounding), self.run(change=-self.rounding)]
        if kinds != {"float64"}:
            others.append(self.run(wide=True))
        self.allowed = [room(as64(v), [as64(o[k]) for o in others], self.rounding) for k, v in enumerate(self.values)]

    def run(self, **changed):
        """The results in one list, at operands that are changed a little."""
        xs = [o.at(self.which, **changed) for o in self.made.operands if not o.held]
        with eager():
            return flat(space_of(self.made, **changed)[self.part](*xs, *self.more))

    def compare(self, what, call):
        """Call it and compare: values, or the type of the error. raises : Difference"""
        what = f"{self.part}, {what}, sizes {self.which} {[x.shape for x in self.xs]}"
        try:
            found = flat(call(*self.xs, *(self.more if self.error is None else unknown_of(self.made, self.part, self.xs))))
        except GraphSyntaxError:
            raise
        except Exception as error:
            sides = type(error), type(self.error)
            if self.error is not None and (issubclass(*sides) or issubclass(*sides[::-1]) or InternalError not in sides and any(
                    0 in x.shape for x in self.xs)):             # of an empty operand one or the other part may complain
                return
            raise Difference(f"{what}: {error!r:.1500}\n, not {self.error or 'values'!r:.500}\n{traceback.format_exc()[-1500:]}")
        if self.error is not None:
            raise Difference(f"{what}: values {[t.shape for t in found]}, not {self.error!r:.500}")
        unlike(what, found, self.values, self.allowed)


def unknown_of(made, part, xs):
    """Cotangents for a call that raises before it looks at them."""
    moved = [x for x in xs if is_float(x)]
    ranks = [Tensor(np.ones((1,) * n)) for n in ranks_of(made)]
    return {"everything": ranks, "second": ranks + moved, "pushed": moved}[part]


def ranks_of(made):
    """The ranks of the results that are floats."""
    with eager():
        found = space_of(made)["f"](*[o.at(0) for o in made.operands if not o.held])
    return [found[k].ndim for k in made.floats]


def declared_of(made, like):
    """How the arguments are declared: None, a Symbol or the size itself for each axis. like: the Tensors that follow them"""
    symbols = {s: ms.Symbol(unique=True) for s in "ABCDEFGH"} if made.declared == "symbol" else {}
    found = [Tensor(shape=[symbols.get(s) if s else n for s, n in zip(o.open, o.shapes[0])], dtype=getattr(ms, o.kind if
             o.kind != "bool" else "bool_")) for o in made.operands if not o.held]
    return found + [Tensor(shape=[None] * t.ndim, dtype=t.dtype) for t in like]


def jitted(made, space, part, more):
    """(the function compiled as the Case says, () -> how many variants)"""
    options = dict(made.options, fullgraph=True)
    function = space[part]
    if made.declared == "cell" and part == "everything":
        net = space["Net"]()
        net.set_inputs(*declared_of(made, more))
        net = ms.jit(net, **options)
        return net, lambda: len(net.construct.variants)
    if made.declared in ("signature", "symbol"):
        graph = ms.jit(function, input_signature=tuple(declared_of(made, more)), **options)
    elif made.declared == "enabled":
        names = [o.name for o in made.operands if not o.held]
        declared = {name: one for name, one in zip(names, declared_of(made, more)) if None in one.shape or -1 in one.shape}
        graph = ms.enable_dynamic(**declared)(ms.jit(function, **options))
    else:
        graph = ms.jit(function, dynamic=int(made.declared != "automatic"), **options)
    return graph, lambda: len(graph.variants)


def check(seed, operator=None):
    """Run the case of a seed. Returns what was checked. raises : Difference, or the error of one of the ways"""
    made = case(seed, operator)
    if made is None:
        return "nothing"
    try:
        with as_said(made):
            return run(made)
    except GraphSyntaxError as error:
        refused[str(error).splitlines()[0]] += 1
        return "no graph can say it"                     # a number of the run decides a size


refused = collections.Counter()


def patterns(made, which):
    """What tells signatures apart: which open sizes are equal, and which are 0 or 1."""
    sizes = [n for o in made.operands if not o.held for n in o.shapes[which]]
    return tuple(sizes.index(n) for n in sizes), tuple(n if n < 2 else 2 for n in sizes)


def run(made):
    """Compare all ways of a Case."""
    moved = any(o.kind in FLOATS for o in made.operands if not o.held)
    parts = ["everything", *(part for part in ("second", "pushed") if part in made.parts and moved)]
    counted = 0
    for part in parts:
        references = {which: Reference(made, part, which) for which in range(SETS)}
        if references[0].error is not None:
            refused[f"{part}: {type(references[0].error).__name__}: {str(references[0].error).splitlines()[0][:200]}"] += 1
            continue
        space = space_of(made)
        graph, variants = jitted(made, space, part, references[0].more)
        for which in made.order:
            if made.declared == "symbol" and any(0 in o.shapes[which] for o in made.operands):
                continue                                 # a Symbol is at least 1
            references[which].compare(f"graph, call {which}", graph)
            references[which].compare("eager", space[part])
        if variants() > (4 if made.declared == "automatic" else 2) + len({patterns(made, which) for which in range(SETS)}):
            raise Difference(f"{part}: {variants()} variants of {made.declared}")
        counted += 1
        if part == "everything" and "mapped" in made.parts:
            mapped(made, [references[0], references[1], references[4]])
        if part == "everything" and "recorded" in made.parts:
            recorded(made, [references[which] for which in made.order[:4]])
    return "compared" if counted == len(parts) else f"compared {counted} of {len(parts)}"


def mapped(made, references):
    """vmap over values and gradients, compiled once: the first of two is as by itself."""
    graph = ms.jit(ms.vmap(space_of(made)["everything"]), dynamic=1, fullgraph=True)
    for ref in references:
        if ref.error is None:
            others = [o.at(ref.which, change=0.02) for o in made.operands if not o.held]
            stacked = [Tensor(np.stack([as64(a), as64(b)])).astype(a.dtype) for a, b in
                       zip([*ref.xs, *ref.more], [*others, *ref.more])]
            try:
                found = flat(graph(*stacked))
            except Exception as error:
                if "another size for each element" in str(error) or isinstance(error, GraphSyntaxError):
                    return
                raise Difference(f"vmap, sizes {ref.which}: {traceback.format_exc()[-2500:]}")
            unlike(f"vmap, sizes {ref.which}", [t[0] for t in found], ref.values, ref.allowed)


def recorded(made, references):
    """The compiled function on a tape of eager mode."""
    space = space_of(made, made.text.replace("        found = f(", "        found = compiled("))
    space["compiled"] = jitted(made, space, "f", [])[0]
    for ref in references:
        if ref.error is None:
            try:
                found = flat(space["slopes"](*ref.xs, *ref.more))
            except GraphSyntaxError:
                raise
            except Exception:
                raise Difference(f"recorded, sizes {ref.which}: {traceback.format_exc()[-2500:]}")
            unlike(f"recorded, sizes {ref.which}", found, ref.values[made.outputs:], ref.allowed[made.outputs:])


def report(seed, operator=None):
    """The text and the operands of a seed."""
    made = case(seed, operator)
    lines = [f"# {o.name}: {o.kind}, {o.held or 'an argument'}, open {o.open}, sizes {o.shapes}" for o in made.operands]
    return (f"# seed {seed!r}, {made.declared}, {made.options}, {made.parts}, order {made.order}, lanes {made.lanes}, "
            f"threads {made.threads}\n" + "\n".join(lines) + f"\n{made.text}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--operator", help="begin with samples of this operator only")
    parser.add_argument("--show", action="store_true", help="print the cases, run none")
    options = parser.parse_args(arguments)
    config.set(keep_flows=False, compile_beside=False)
    counts, wrong, start = collections.Counter(), [], time.process_time()
    for k in range(options.first, options.first + options.count):
        seed = f"{options.seed}.{k}"
        if options.show:
            print(report(seed, options.operator) if case(seed, options.operator) else f"# {seed}: nothing")
            continue
        try:
            done = check(seed, options.operator)
        except Exception as error:                              # any error of any way is a find
            done = type(error).__name__
            wrong.append(seed)
            last = "" if isinstance(error, Difference) else traceback.format_exc()[-2500:]
            print(f"--- {done}: {str(error)[:3500]}\n{last}\n{report(seed, options.operator)}", flush=True)
        counts[done] += 1
        if k % 20 == 19:
            print(f"up to {k + 1}, {time.process_time() - start:.0f} s: {dict(counts)}", flush=True)
    for reason, count in refused.most_common(60):
        print(f"{count} x {reason}")
    print(f"{options.count} cases: {dict(counts)}; {len(wrong)} finds: {' '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
