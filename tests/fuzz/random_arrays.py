"""Random functions of arrays: sizes at which vectors and tiles end, many dtypes, and values that decide which others are taken.

    python tests/fuzz/random_arrays.py --count 1000 --seed 0 [--first 0]

`grammar.py` writes the language over small Tensors; here the programs are straight and the arrays are what varies: sizes of 1 to
70 around the lanes of vectors, long axes, empty ones; reductions, sorts, products, views, assignments in place, operators drawn
from the tables of ops, mint and Tensor. A statement is drawn, run by the eval rules, and stays if it gives finite numbers.

The reference is NumPy (the eval rules, gradients on tapes). It must be what eager mode gives, and a graph: values and gradients
of all arguments with cotangents that are arguments, at several sizes, recorded, recomputed, mapped; the directional derivative
must be the product of the gradient; in float64 differences must be, too.

How far two results may be apart is measured, not assumed: the reference runs again on arguments changed by a rounding, and in
float64. What moves by more than a hundredth then hangs on a rounding (a tie, a cancellation): it is not compared, but counted.
Everything follows from the seed.
"""
import argparse
import contextlib
import inspect
import itertools
import linecache
import random
import sys
import time
import traceback
import warnings
from dataclasses import dataclass

import numpy as np

import mindlite as ms
from mindlite import Tensor, mint, ops
from mindlite.common.config import config
from mindlite.common.errors import GraphSyntaxError, ShapeError
from mindlite.mindir.primitive import eager

HEAD = "import numpy as np\nimport mindlite as ms\nfrom mindlite import Tensor, mint, ops\n\n\n"
SIZES = (1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 15, 16, 17, 23, 31, 32, 33, 37, 47, 59, 61, 63, 64, 65, 67, 70)
FLOATS = ("float32", "float64", "float16", "bfloat16")
LARGEST = 60_000                                     # elements of a value
ROUNDING = {"float64": 2e-14, "float32": 4e-7, "float16": 2e-3, "bfloat16": 1.6e-2}
TRIES = 40

SMOOTH = ("ops.sin({a})", "ops.tanh({a})", "ops.sigmoid({a})", "ops.exp({a} * 0.3)", "ops.sqrt({a} * {a} + 1)",
          "{a} / (1 + {a} * {a})", "ops.log({a} * {a} + 1.5)", "-{a}", "{a} * 0.7 - 0.2", "ops.abs({a})", "ops.relu({a})",
          "ops.square({a})", "{a} ** 3", "1 / ({a} * {a} + 0.5)", "ops.rsqrt({a} * {a} + 1)", "ops.gelu({a})",
          "ops.softplus({a})", "ops.silu({a})", "ops.erf({a})", "ops.clamp({a}, -0.8, 0.9)", "ops.hardtanh({a}, -0.5, 0.5)",
          "ops.leaky_relu({a}, 0.1)", "ops.elu({a})")
PAIRS = ("{a} + {b}", "{a} * {b}", "{a} - {b} * 0.5", "{a} / (2 + {b} * {b})", "ops.maximum({a}, {b})",
         "ops.minimum({a}, {b} * 0.9)", "ops.where({a} > {b}, {a}, {b} * 0.3)", "ops.where({a} <= {b} * 0.5, {b}, {a} * {b})",
         "({a} > {b}).astype({a}.dtype) * {a}", "ops.atan2({a}, {b} + 3)", "ops.concat([{a}, {b}], {i})",
         "ops.stack([{a}, {b}], {i})", "ops.stack([{a}, {b}]).mean({i})",
         "ops.where({a} == ops.maximum({a}, {b}), {a}, {b} * {b})", "{a} * {b}.sum()", "{a} - {b}.mean({i}, keep_dims=True)",
         "ops.clamp({a}, {b}.min(), {b}.max() * 0.8)", "ops.where({a} > {b}.mean(), {a}, {b})", "{a} @ {b}.T", "{a}.T @ {b}",
         "ops.matmul({a}, {b}.swapaxes(-1, -2))", "ops.einsum('ij,ik->jk', {a}, {b})", "ops.cross({a}, {b})",
         "ops.dot({a}, {b}) * {a}", "ops.outer({a}, {b})", "ops.lerp({a}, {b}, 0.3)", "ops.addcmul({a}, {b}, {b}, value=0.2)")
REDUCED = ("{a}.sum({x})", "{a}.mean({x})", "ops.sum({a}, {x})", "ops.mean({a}, {x}, True)", "ops.amax({a}, {x})",
           "ops.amin({a}, {x})", "ops.std({a}, {x})", "ops.var({a}, {x})", "ops.norm({a}, 2, {x})", "ops.norm({a}, 1, {x})",
           "ops.logsumexp({a}, {x})", "ops.abs({a}).sum({x})", "({a} * {a}).sum({x})", "ops.sqrt(({a} * {a}).sum({x}) + 0.1)",
           "({a} > 0.1).sum({x})", "ops.amax({a}, {x}, keepdims=True)", "ops.std({a}, {x}, keepdims=True)",
           "mint.logsumexp({a}, {x})", "ops.prod(1 + {a} * 0.1, {i})", "mint.mean({a} * {a}, {x})",
           "ops.norm({a}, float('inf'), {x})", "ops.median({a}, {i})[0]", "ops.any({a} > 1, {x}).astype(ms.float32)",
           "mint.linalg.vector_norm({a}, 3, {x})", "{a}.astype(ms.float32).sum({x})")
ALONG = ("ops.softmax({a}, {i})", "ops.log_softmax({a}, {i})", "ops.cumsum({a}, {i})", "ops.cumprod(1 + {a} * 0.05, {i})",
         "ops.cummax({a}, {i})[0]", "ops.cummin({a}, {i})[0]", "ops.sort({a}, {i})[0]", "ops.sort({a}, {i}, True)[0]",
         "ops.flip({a}, ({i},))", "ops.topk({a}, 1, {i})[0]", "ops.topk({a}, 2, {i})[0]", "ops.roll({a}, 1, {i})",
         "ops.diff({a}, axis={i})", "{a} - {a}.mean({i}, keep_dims=True)", "{a} / ({a} * {a} + 1).sum({i}, keepdims=True)",
         "{a} - ops.amax({a}, {i}, keepdims=True)",
         "ops.layer_norm({a}, {a}.shape[-1:], ops.ones({a}.shape[-1:], {a}.dtype), ops.zeros({a}.shape[-1:], {a}.dtype))",
         "ops.where({a} == ops.amax({a}, {i}, keepdims=True), {a}, 0.1 * {a})",
         "ops.where({a} >= {a}.mean({i}, keep_dims=True), {a}, -{a})",
         "({a} - {a}.mean({i}, keep_dims=True)) / ops.sqrt(ops.var({a}, {i}, keepdims=True) + 1e-3)", "ops.normalize({a})",
         "ops.one_hot(ops.argmax({a}, {i}), 70).astype({a}.dtype)", "ops.argmax({a}, {i})", "ops.argmin({a}, {i})",
         "ops.argsort({a}, {i})", "ops.gather_elements({a}, {i}, ops.argsort({a}, {i}))", "{a}[ops.argmax({a}, {i})]",
         "ops.gather({a}, ops.argsort({a}.sum(1)), 0)",
         "ops.clamp({a}, ops.amin({a} * 0.5, {i}, keepdims=True), ops.amax({a} * 0.5, {i}, keepdims=True))",
         "ops.glu({a}, {i})", "ops.masked_fill({a}, {a} == ops.amin({a}, {i}, keepdims=True), 0.5)", "mint.cumsum({a}, {i})",
         "mint.softmax({a} * 3, {i})", "ops.topk({a}, 2, {i})[1]", "ops.searchsorted(ops.sort({a}, -1)[0], {a} * 0.5)",
         "({a} == ops.amax({a}, {i}, keepdims=True)).sum({i})")
JUMPS = ("ops.floor({a} * 3) * 0.3", "ops.round({a} * 4) * 0.2", "ops.sign({a}) * {a}", "{a} // 0.3", "{a} % 0.7",
         "ops.trunc({a} * 2)", "ops.ceil({a} * 2) * {a}", "ops.fmod({a}, 0.6)", "({a} * 5).astype(ms.int32)",
         "({a} > 0.2).astype(ms.float32)", "{a} > 0.1", "ops.isnan({a})", "({a} * 9).astype(ms.int32) % 5",
         "{a}.astype(ms.bool_)", "ops.frac({a})")
SHAPED = ("{a}.T", "{a}.swapaxes(0, -1)", "{a}.reshape(-1)", "{a}.reshape({a}.shape[0], -1)", "{a}[None]", "{a}[..., None]",
          "ops.broadcast_to({a}[None], (3, *{a}.shape))", "{a}[::2]", "{a}[1:]", "{a}[:-1]", "{a}[..., ::2]", "{a}[..., 1:]",
          "{a}[::-1]", "{a}[0]", "{a}[-1]", "{a}[..., 0]", "{a}[..., -1]", "ops.pad({a}, (1, 2))",
          "ops.tile({a}, (2,) * {a}.ndim)", "{a}[[0, -1, 0]]", "ops.chunk({a}, 2, {i})[0]", "ops.unstack({a}, {i})[0]",
          "ops.split({a}, 3, {i})[-1]", "{a}.squeeze()", "ops.tril({a})", "ops.repeat_interleave({a}, 2, {i})",
          "ops.moveaxis({a}, 0, -1) * 1", "ops.narrow({a}, {i}, 0, 1)", "ops.triu({a}, 1)", "{a}.astype(ms.float32)",
          "{a}.astype(ms.float64)", "{a}.astype(ms.float16)", "{a}.astype(ms.bfloat16)",
          "ops.gather({a}, Tensor([0, 0, 1]), {i})", "ops.unfold({a}[None, None], 2)", "{a}[{a}.shape[0] // 2:]",
          "{a}[{a} > 0].sum()", "ops.diagonal({a})", "ops.index_select({a}, {i}, Tensor([1, 0]))", "{a}.flatten()",
          "ops.avg_pool1d({a}[None], 3, 1)")
CHOSEN = ("ops.amax({a}, {x})", "ops.amin({a}, {x})", "{a}.max()", "{a}.min()", "ops.sort({a}, {i})[0]",
          "ops.topk({a}, 2, {i})[0]", "ops.where({a} == {a}.max(), {a}, 0.2 * {a})",
          "ops.where({a} == ops.amin({a}, {i}, keepdims=True), 1.0, {a})", "{a} >= {a}.max()",
          "({a} == ops.amax({a}, {x}, keepdims=True)).astype(ms.int32).sum({x})", "ops.clamp({a}, {a}.mean(), {a}.max() * 0.9)",
          "ops.argmax({a}, {i})", "{a}[ops.argmin({a}.reshape({a}.shape[0], -1).sum(1))]",
          "ops.amax({a}[:, None] - {a}[None], {x})", "ops.maximum({a}, {a}.mean({i}, keep_dims=True))",
          "ops.relu({a} - {a}.mean({i}, keep_dims=True))", "ops.cummax({a}, {i})[0]", "ops.norm({a}, float('inf'), {x})",
          "ops.floor({a} / {a}.max() * 3)", "{a} - ops.amax({a}, {i}, keepdims=True)",
          "ops.gather_elements({a}, {i}, ops.argsort({a}, {i}))", "ops.median({a}, {i})[0]",
          "ops.sign({a} - {a}.mean({i}, keep_dims=True)) * {a}")
STORES = ("{v}[0] = {v}[-1] * 0.5", "{v}[::2] = 0.25", "{v}[1:] = {v}[:-1] * 0.9", "{v}[..., 0] = {v}[..., -1]",
          "{v}[..., ::2] *= 0.5", "{v}[-1] += {v}.sum() * 0.01", "{v}[:] = {a} + 1", "{v}[{v} > 0.5] = 0.5", "{v} += {a} * {a}",
          "{v}[[0, 1]] = {v}[[1, 0]] * 2", "{v}.T[0] = 0.1", "{v}[1:] += {v}[0]", "{v}.reshape(-1)[::3] = 0.5",
          "{v} *= {a}.sum()", "{v}[{v} == {v}.max()] = 0.0", "{v}[ops.argmax({v}.reshape({v}.shape[0], -1).sum(1))] *= 2")
GROUPS = ((SMOOTH, 5), (PAIRS, 6), (REDUCED, 7), (ALONG, 7), (JUMPS, 2), (SHAPED, 5))
UNWANTED = ("rand", "empty", "drop", "multinomial", "normal_", "uniform", "bernoulli", "shuffle", "poisson", "seed", "print",
            "gumbel", "laplace", "cauchy", "exponential_", "geometric", "log_normal", "gamma", "rrelu", "asnumpy", "svd", "qr",
            "eig", "choice", "lu", "assign", "set_", "masked_select", "nonzero", "unique", "argwhere", "numpy", "register",
            "hook", "flush", "dump", "candidate", "all_", "reduce_scatter", "send", "recv")


def tabled():
    """Calls of the functions of ops and mint and the methods of Tensor with one Tensor, an axis, or two."""
    found = []
    for where, names in (("ops.", dir(ops)), ("mint.", dir(mint)), ("{a}.", dir(Tensor))):
        of = {"ops.": ops, "mint.": mint, "{a}.": Tensor}[where]
        for name in sorted(names):
            if not name.islower() or name[0] == "_" or name[-1] == "_" or any(word in name for word in UNWANTED):
                continue
            if callable(getattr(of, name, None)) and not inspect.isclass(getattr(of, name)):
                found += [f"{where}{name}({arguments})" for arguments in
                          (("", "{i}", "{b}", "{b}, {i}") if where == "{a}." else ("{a}", "{a}, {i}", "{a}, {b}"))]
    return tuple(found)


def values(shape, dtype, seed):
    """An array of this shape: floats in [-2, 2] that all differ (as far as their dtype tells them apart), ints, bools."""
    draw = np.random.default_rng(seed)
    count = int(np.prod(shape))
    if dtype == "bool":
        return draw.integers(0, 2, shape).astype(bool)
    if dtype == "int32":
        return draw.integers(-9, 10, shape).astype(np.int32)
    made = (draw.permutation(count) + draw.uniform(0.2, 0.8, count)) * 4 / max(count, 1) - 2
    return made.reshape(shape)


@dataclass(frozen=True)
class Case:
    """text: the source of `f`, `slopes` and `everything`; arguments: (shapes at each of the sizes, dtype, seed) of each;
    outputs: how many results f has, and which are floats; options: how the graphs are compiled; ways: what else is checked"""
    text: str
    arguments: tuple
    floats: tuple
    options: dict
    ways: tuple
    lanes: int
    threads: int


class Writer:
    """Draws a function by running it. sizes: a list of {symbol: size}, of which the first is run"""

    def __init__(self, rng, tables):
        self.rng, self.tables = rng, tables
        self.space = {"ms": ms, "ops": ops, "mint": mint, "Tensor": Tensor, "np": np}
        self.lines, self.names = [], []

    def run(self, statement):
        """Run a statement by the eval rules; False where it raises, or takes or gives too much."""
        start = time.process_time()
        try:
            with eager():
                exec(statement, self.space)
        except Exception:
            return False
        return time.process_time() - start < 0.5

    def pick(self, *, floats=True, like=None):
        """A variable, newer ones more often; like: one of the same shape, if there is."""
        fit = [n for n in self.names if not floats or is_float(self.space[n])]
        if like is not None:
            shape = self.space[like].shape
            fit = [n for n in fit if self.space[n].shape == shape] or fit
        fit = fit or self.names
        return fit[max(self.rng.randrange(len(fit)), self.rng.randrange(len(fit)))]

    def filled(self, template):
        a = self.pick(floats=self.rng.random() < 0.9)
        ndim = self.space[a].ndim
        axes = [i for i in range(ndim) if self.rng.random() < 0.5]
        x = str(tuple(axes)) if len(axes) > 1 else str(axes[0] - ndim * (self.rng.random() < 0.3)) if axes else "-1"
        i = self.rng.randrange(max(ndim, 1))
        return template.format(a=a, b=self.pick(like=a), x=x, i=i - ndim if self.rng.random() < 0.3 else i, v="{v}")

    def chosen(self, name):
        """Statements that take some of what others compute: name = max(sum(abs(x)))"""
        lines = []
        for group in ((SMOOTH, PAIRS), (REDUCED, REDUCED, ALONG), (CHOSEN,)):
            if group[0] is CHOSEN or self.rng.random() < 0.8:
                held, self.names = self.names, [name] if lines else self.names
                lines.append(f"{name} = {self.filled(self.rng.choice(self.rng.choice(group)))}")
                self.names = held
                if not self.run(lines[-1]):
                    return [*lines, "raise"]
        return lines

    def statement(self):
        """One that runs, if TRIES draws have one."""
        name = f"v{len(self.lines)}"
        for _ in range(TRIES):
            if self.rng.random() < 0.3:
                lines = self.chosen(name)
            elif self.rng.random() < 0.12:
                lines = [f"{name} = {self.pick()} * 1", self.filled(self.rng.choice(STORES)).format(v=name)]
            elif self.tables and self.rng.random() < 0.2:
                lines = [f"{name} = {self.filled(self.rng.choice(self.tables))}"]
            else:
                group = self.rng.choices([g for g, _ in GROUPS], [w for _, w in GROUPS])[0]
                lines = [f"{name} = {self.filled(self.rng.choice(group))}"]
            if all(map(self.run, lines)) and is_tame(self.space[name]):
                self.lines += lines
                self.names.append(name)
                return


def is_float(value):
    """True for a Tensor of floats."""
    return isinstance(value, Tensor) and value.dtype in (ms.float32, ms.float64, ms.float16, ms.bfloat16)


def is_tame(value):
    """True for a Tensor of finite numbers, not too many and not too large."""
    if not isinstance(value, Tensor) or not hasattr(value, "size"):          # x.of_elements(1) is no Tensor of anything
        return False
    if value.size > LARGEST or value.dtype in (ms.complex64, ms.complex128):
        return False
    array = as64(value)
    return bool(np.isfinite(array).all()) and np.abs(array).max(initial=0) < 1e4


def as64(value):
    """The numbers of a Tensor in float64."""
    return (value.astype(ms.float32) if value.dtype == ms.bfloat16 else value).asnumpy().astype(np.float64)


_tables = []


def case(seed, tables=None):
    """The Case of a seed; None where nothing that is a float came of it. tables: calls to draw from beside those written here"""
    rng = random.Random(seed)
    if not _tables:
        _tables.append(tabled())
    tables = _tables[0] if tables is None else tables
    sizes = [{s: 0 if rng.random() < 0.01 else rng.choice(SIZES) for s in "ABC"} for _ in range(3)]
    if rng.random() < 0.1:
        for one in sizes:
            one[rng.choice("AB")] = rng.randint(1000, 5000)
    dtype = rng.choice(("float32",) * 6 + ("float64",) * 4 + ("float16", "bfloat16"))
    arguments = []
    for k in range(rng.randint(1, 3)):
        shape = rng.choice(("A", "AB", "AB", "AB", "BA", "AA", "ABC", "B", ""))
        shape = shape if k == 0 or rng.random() < 0.5 else arguments[0][0]
        other = rng.choice((dtype,) * 8 + ("int32", "bool", rng.choice(FLOATS)))
        arguments.append((shape, dtype if k == 0 else other, rng.randrange(1 << 30)))
    arguments = tuple((tuple(tuple(one[s] for s in shape) for one in sizes), kind, number) for shape, kind, number in arguments)
    if max(np.prod(shape, dtype=int) for shapes, _, _ in arguments for shape in shapes) > LARGEST:
        return None
    writer = Writer(rng, tables)
    for k, (shapes, kind, number) in enumerate(arguments):
        writer.space[f"x{k}"] = Tensor(values(shapes[0], kind, number)).astype(getattr(ms, kind if kind != "bool" else "bool_"))
        writer.names.append(f"x{k}")
    for _ in range(rng.randint(2, 6)):
        writer.statement()
    made = writer.names[len(arguments):]
    if not made:
        return None
    kept = sorted({made[-1], *rng.sample(made, min(len(made), rng.choice((0, 1, 1, 2))))})
    floats = tuple(k for k, name in enumerate(kept) if is_float(writer.space[name]))
    if not floats:
        return None
    options = {"dynamic": int(rng.random() < 0.3), "printer": rng.choice(("native",) * 4 + ("python", "vm")),
               "jit_level": rng.choice(("O1",) * 5 + ("O0",))}
    ways = tuple(way for way in WAYS if rng.random() < 0.2)
    return Case(HEAD + source(writer.lines, kept, floats, arguments), arguments, floats, options, ways, rng.choice((4, 8, 8, 16)),
                rng.choice((1, 2)))


def source(lines, kept, floats, arguments):
    """The text of f, of its gradients and of both."""
    xs = ", ".join(f"x{k}" for k in range(len(arguments)))
    cs = ", ".join(f"c{k}" for k in range(len(floats)))
    by = tuple(k for k, (_, kind, _) in enumerate(arguments) if kind in FLOATS)
    total = " + ".join(f"(found[{k}].astype(ms.float64) * c{j}).sum()" for j, k in enumerate(floats))
    body = "".join(f"    {line}\n" for line in lines)
    return (f"def f({xs}):\n{body}    return {', '.join(kept)},\n\n\n"
            f"def slopes({xs}, {cs}):\n    def total({xs}):\n        found = f({xs})\n        return {total}\n"
            f"    return ms.grad(total, {by})({xs})\n\n\n"
            f"def everything({xs}, {cs}):\n    return f({xs}), slopes({xs}, {cs})\n")


# ---------------------------------------------------------------- running

_numbers = itertools.count()


class Difference(AssertionError):
    """Two ways give different results."""


def compiled(text):
    """The namespace of a text whose lines errors can show."""
    file = f"<arrays {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space


def arguments_of(made, which, change=0.0, wide=False):
    """The arguments at sizes number `which`; change: their relative change, wide: floats as float64"""
    found = []
    for shapes, kind, number in made.arguments:
        array = values(shapes[which], kind, number + which)
        if kind in FLOATS:
            array = Tensor(array).astype(getattr(ms, kind))              # so that float64 begins with the same numbers
            array = as64(array)
            array = array * (1 + change * np.random.default_rng(number).uniform(-1, 1, array.shape))
            found.append(Tensor(array).astype(ms.float64 if wide else getattr(ms, kind)))
        else:
            found.append(Tensor(array))
    return found


def cotangents_of(made, outputs, seed=5):
    """A weight in float64 for each element of each result that is a float."""
    return [Tensor(values(outputs[k].shape, "float64", seed + k)) for k in made.floats]


def flat(found):
    """The Tensors of a result, in order."""
    return [found] if isinstance(found, Tensor) else [t for part in found for t in flat(part)]


def room(value, others, rounding):
    """How far another way may be off; None where the value hangs on roundings. others: the value of changed arguments"""
    if any(o.shape != value.shape or not np.array_equal(np.isfinite(o), np.isfinite(value)) for o in others):
        return None
    finite = np.isfinite(value)
    scale = np.abs(value[finite]).max(initial=0)
    moved = max((np.abs(o - value)[finite].max(initial=0) for o in others), default=0)
    return None if moved > max(0.01, 3 * rounding) * scale else (10 * rounding * scale + 8 * moved)


def unlike(what, found, values, allowed):
    """raises : Difference where Tensors are not these values, each as far off as is allowed"""
    if len(found) != len(values):
        raise Difference(f"{what}: {len(found)} results instead of {len(values)}")
    for k, (value, other, near) in enumerate(zip(values, found, allowed)):
        if other.dtype != value.dtype or other.shape != value.shape:
            raise Difference(f"{what}, result {k}: {other.dtype}{other.shape}, not {value.dtype}{value.shape}")
        if near is None:
            continue
        a, b = as64(value), as64(other)
        apart = np.abs(a - b)
        wrong = np.where(np.isfinite(a), ~(apart <= near), ~((a == b) | np.isnan(a) & np.isnan(b)))
        if wrong.any():
            at = tuple(int(n) for n in np.argwhere(wrong)[0])
            raise Difference(f"{what}, result {k}: {wrong.sum()} of {wrong.size} differ by more than {near:.3g}; first at {at}: "
                             f"{b[at]!r}, not {a[at]!r}; largest {np.abs(b).max()!r}, not {np.abs(a).max()!r}")


class Reference:
    """What the eval rules give at sizes number `which`, and how far other ways may be from it. None where it raises"""

    def __init__(self, made, which):
        self.made, self.which = made, which
        self.f, self.slopes = (compiled(made.text)[name] for name in ("f", "slopes"))
        self.xs = arguments_of(made, which)
        with eager():
            self.cs = cotangents_of(made, self.f(*self.xs))
        self.values = self.run()
        kinds = {kind for _, kind, _ in made.arguments if kind in FLOATS}
        kinds |= {kind for kind in FLOATS if f"ms.{kind})" in made.text.split("def slopes")[0]}
        kinds |= {str(v.dtype).lower() for v in self.values if is_float(v)} & set(FLOATS)
        self.rounding = max(ROUNDING[kind] for kind in kinds)
        others = [self.run(change=self.rounding), self.run(change=-self.rounding)]
        if kinds != {"float64"}:
            others.append(self.run(wide=True))
        self.allowed = [room(as64(v), [as64(o[k]) for o in others], self.rounding) for k, v in enumerate(self.values)]

    def run(self, **changed):
        xs = arguments_of(self.made, self.which, **changed)
        with eager():
            return [*flat(self.f(*xs)), *flat(self.slopes(*xs, *self.cs))]

    def compare(self, what, found, part=slice(None)):
        """raises : Difference"""
        unlike(f"{what}, sizes {self.which}", found, self.values[part], self.allowed[part])


def vmapped(made, ref, count):
    """Three sets of arguments at once are each by itself; vmap refuses sizes that data decides, as of `x[x > 0]`."""
    with eager():
        lots = [ref.xs, arguments_of(made, 0, change=0.3), arguments_of(made, 0, change=-0.2)]
    stacked = [ops.stack([lot[k] for lot in lots]) for k in range(len(ref.xs))]
    try:
        found = flat(ms.jit(ms.vmap(compiled(made.text)["f"]), **made.options)(*stacked))
    except ShapeError as error:
        if "another size for each element" in str(error):
            return
        raise
    ref.compare("vmap", [t[0] for t in found], slice(0, count))


def pushed(made, ref, count):
    """The directional derivative times the cotangents is the gradient times the direction."""
    f = compiled(made.text)["f"]
    by = [k for k, (_, kind, _) in enumerate(made.arguments) if kind in FLOATS]
    ways = [Tensor(values(ref.xs[k].shape, "float64", k)).astype(ref.xs[k].dtype) for k in by]

    def inner(*floats):
        xs = list(ref.xs)
        for k, x in zip(by, floats):
            xs[k] = x
        found = f(*xs)
        return tuple(found[k] for k in made.floats)
    _, moved = ms.jit(lambda xs, ways: ms.jvp(inner, xs, ways), **made.options)(tuple(ref.xs[k] for k in by), tuple(ways))
    one = sum((as64(m) * as64(c)).sum() for m, c in zip(flat(moved), ref.cs))
    two = [(as64(s) * as64(w)) for s, w in zip(ref.values[count:], ways)]
    room = sum(np.inf if r is None else r * np.abs(as64(w)).sum() for r, w in zip(ref.allowed[count:], ways))
    if not abs(one - sum(t.sum() for t in two)) <= room + 30 * ref.rounding * (1 + sum(np.abs(t).sum() for t in two)):
        raise Difference(f"jvp: {one!r}, and by the gradient {sum(t.sum() for t in two)!r}")


def recorded(made, ref, count):
    """A compiled function on a tape of eager mode."""
    text = made.text.replace("        found = f(", "        found = compiled(")
    space = compiled(text)
    space["compiled"] = ms.jit(space["f"], **made.options)
    for number in range(2):
        ref.compare(f"recorded, call {number}", flat(space["slopes"](*ref.xs, *ref.cs)), slice(count, None))


def recomputed(made, ref, count):
    """The gradient of what runs again."""
    text = made.text.replace("        found = f(", "        found = ms.recompute(f, ")
    ref.compare("recompute", flat(ms.jit(compiled(text)["slopes"], **made.options)(*ref.xs, *ref.cs)), slice(count, None))


def differing(made, ref, count):
    """Gradients of float64 are differences, where these settle."""
    if ref.rounding > ROUNDING["float64"]:
        return
    f = compiled(made.text)["f"]
    for number, k in enumerate(k for k, (_, kind, _) in enumerate(made.arguments) if kind in FLOATS):
        x = as64(ref.xs[k])
        if x.size == 0 or ref.allowed[count + number] is None:
            continue
        way = values(x.shape, "float64", 77)
        found = []
        for step in (1e-5, 5e-6, 2.5e-6):
            ends = []
            for sign in (1, -1):
                xs = list(ref.xs)
                xs[k] = Tensor(x + sign * step * way)
                with eager():
                    out = f(*xs)
                ends.append(sum((as64(out[j]) * as64(c)).sum() for j, c in zip(made.floats, ref.cs)))
            found.append((ends[0] - ends[1]) / (2 * step))
        slope = (as64(ref.values[count + number]) * way).sum()
        scale = 1e-3 + np.abs(as64(ref.values[count + number]) * way).sum()
        if max(abs(found[0] - found[1]), abs(found[2] - found[1])) < 1e-5 * scale and not abs(slope - found[2]) < 1e-3 * scale:
            raise Difference(f"argument {k}: the gradient gives {slope!r}, differences give {found}")


WAYS = {"vmap": vmapped, "jvp": pushed, "recorded": recorded, "recomputed": recomputed, "differences": differing}


@contextlib.contextmanager
def as_said(made):
    """What is run in the block is run as a Case says, without a word on its numbers."""
    before = config.set(lanes=made.lanes, threads=made.threads)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        config.set(**before)


def check(seed, tables=None):
    """Run the case of a seed. Returns what was checked. raises : Difference, or the error of one of the ways"""
    made = case(seed, tables)
    if made is None:
        return "nothing"
    try:
        with as_said(made):
            return run(made)
    except GraphSyntaxError:
        return "no graph can say it"                     # a number of the run decides a size


def run(made):
    """Compare all ways of a Case."""
    try:
        references = [Reference(made, 0)]
    except Exception:
        return "the reference raises"
    for which in (1, 2):
        try:
            references.append(Reference(made, which))
        except Exception:
            continue                                     # a statement that was drawn at the first sizes
    first = references[0]
    count = len(first.values) - sum(kind in FLOATS for _, kind, _ in made.arguments)
    if not any(room is not None for room in first.allowed):
        return "all hangs on roundings"
    space = compiled(made.text)
    graph = ms.jit(space["everything"], fullgraph=True, **made.options)
    for ref in (*references, first):
        ref.compare("graph", flat(graph(*ref.xs, *ref.cs)))
        ref.compare("eager", flat(space["everything"](*ref.xs, *ref.cs)))
    for way in made.ways:
        WAYS[way](made, first, count)
    return "compared" if None not in first.allowed else "compared but for what hangs on roundings"


def report(seed):
    """The case of a seed as a file that runs."""
    made = case(seed)
    lines = []
    for which in range(3):
        tensors = [f"Tensor(values({shapes[which]}, {kind!r}, {number + which})).astype(ms.{'bool_' if kind == 'bool' else kind})"
                   for shapes, kind, number in made.arguments]
        lines.append(f"    xs = [{', '.join(tensors)}]\n    show(xs)\n")
    return f'''# seed {seed!r}, {made.options}, {made.ways}, lanes {made.lanes}, threads {made.threads}
{made.text}

{inspect.getsource(values)}

if __name__ == "__main__":
    from mindlite.common.config import config
    from mindlite.mindir.primitive import eager
    config.set(lanes={made.lanes}, threads={made.threads})
    graph = ms.jit(everything, **{made.options})

    def show(xs):
        cs = [Tensor(values(v.shape, "float64", 5 + k)) for k, v in enumerate(f(*xs)) if k in {made.floats}]
        with eager():
            print("NumPy", everything(*xs, *cs))
        print("graph", graph(*xs, *cs))
{"".join(lines)}'''


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", default="0")
    options = parser.parse_args(arguments)
    config.set(keep_flows=False, compile_beside=False)
    counts, wrong, start = {}, [], time.process_time()
    for k in range(options.first, options.first + options.count):
        seed = f"{options.seed}.{k}"
        try:
            done = check(seed)
        except Exception as error:                              # any error of any way is a find
            done = type(error).__name__
            wrong.append(seed)
            last = "" if isinstance(error, Difference) else traceback.format_exc()[-1500:]
            print(f"--- {done}: {str(error)[:1500]}\n{last}\n{report(seed)}", flush=True)
        counts[done] = counts.get(done, 0) + 1
        if k % 20 == 19:
            print(f"up to {k + 1}, {time.process_time() - start:.0f} s: {counts}", flush=True)
    print(f"{options.count} cases: {counts}; {len(wrong)} finds: {' '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
