"""Random programs under random compositions of transforms, and what must hold of them.

    python tests/functional/random_transforms.py --count 5000 --seed 0

A program is a function of two Tensors f64[n]: control flow whose iterations depend on data, closures, lists, dicts, slices,
assignments in place, views. n is 3, in one program of four another number up to 70. One in four has Tensors whose size the data
decides, and is mostly differentiated two or three times. A composition takes a program through up to three of grad,
value_and_grad, jvp, vjp, linearize, jacfwd, jacrev, vmap, recompute and jit, in any order. Then plain Python on tapes = the
graph = eager mode = machine code; and the outermost derivative = differences of what is inside it, where that is smooth.
Everything follows from one seed.
"""
import argparse
import itertools
import linecache
import random
import sys
import time
import warnings

import numpy as np

import mindlite as ms
from mindlite import ops, Tensor
from mindlite.compile.passes import derive_graph
from mindlite.infer.specialise import specialise
from mindlite.mindir.builder import constant
from mindlite.mindir.evaluate import run
from mindlite.mindir.primitive import eager

HEAD = "import mindlite as ms\nfrom mindlite import ops, Tensor\n\n\n"
UNARY = ["ops.sin({a})", "ops.tanh({a})", "ops.sigmoid({a})", "{a} * 0.7 - 0.2", "ops.exp({a} * 0.2) - 0.5",
         "{a} / (1 + {a} * {a})", "ops.sqrt({a} * {a} + 1)", "-{a}", "ops.softmax({a})", "ops.flip({a}, (0,))",
         "ops.log({a} * {a} + 2)", "ops.cumsum({a}, 0) * 0.4", "ops.roll({a}, 1)",
         "ops.relu({a})", "ops.sqrt(ops.relu({a} - 0.4))"]
BINARY = ["{a} + {b}", "{a} * {b}", "{a} - {b} * 0.5", "ops.where({a} > {b}, {a}, {b} * 0.3)", "{a} * {b}.sum()",
          "ops.maximum({a}, {b})", "ops.matmul({a}, {b}) * {a}", "ops.stack([{a}, {b}]).mean(axis=0)",
          "{a} / (2 + {b} * {b})", "ops.matmul(ops.expand_dims({a}, 1) * {b}, {b}) * 0.3"]
SIZES = (4, 5, 7, 8, 9, 13, 15, 16, 17, 31, 33, 47, 63, 65, 70)          # around the lanes of vectors, and primes
CONDITIONS = ["{a}.sum() > {c}", "{a}[0] > {b}[1]", "({a} * {b}).sum() < {c}", "{a}.max() > {c} and {b}[0] < 2",
              "not {a}[2] < {c}"]


class Writer:
    """Writes a function statement by statement; size: how long its Tensors are; names: the variables that hold them."""

    def __init__(self, rng, size=3):
        self.rng, self.size, self.lines, self.names, self.count = rng, size, [], ["x", "w"], 0

    def fresh(self, stem="v"):
        self.count += 1
        return f"{stem}{self.count}"

    def put(self, text, depth):
        self.lines.append("    " * depth + text)

    def pick(self):
        return self.rng.choice(self.names)

    def number(self):
        return round(self.rng.uniform(-1, 1.5), 2)

    def expression(self):
        if self.rng.random() < 0.5:
            return self.rng.choice(UNARY).format(a=self.pick())
        return self.rng.choice(BINARY).format(a=self.pick(), b=self.pick())

    def condition(self):
        return self.rng.choice(CONDITIONS).format(a=self.pick(), b=self.pick(), c=self.number())

    def new(self, text, depth):
        name = self.fresh()
        self.put(f"{name} = {text}", depth)
        return name

    def block(self, depth, size, level):
        """Statements; the variables made inside stay inside, others are assigned."""
        before = list(self.names)
        for _ in range(size):
            self.statement(depth, level)
        self.names = before

    def statement(self, depth, level):
        rng = self.rng
        kinds = [self.assign, self.assign, self.again, self.again, self.slice, self.in_place, self.view, self.augmented]
        if level > 0:
            kinds += [self.branch, self.loop, self.count_loop, self.closure, self.sequence, self.table, self.inner]
        rng.choice(kinds)(depth, level)

    def assign(self, depth, level):
        name = self.new(self.expression(), depth)
        self.names.append(name)

    def again(self, depth, level):
        text, name = self.expression(), self.pick()
        self.put(f"{name} = {text}", depth)

    def slice(self, depth, level):
        a, b, n = self.pick(), self.pick(), self.size
        text = self.rng.choice([f"ops.concat([{a}[1:], {b}[:1]])", f"{a}[::2].sum() * {b}", f"{a}[1] * {b}",
                                f"ops.concat([{a}[0:{n - 1}] * 2, {b}[-1:]])", f"{a}[{[n - 1, *range(n - 1)]}] * 0.8",
                                f"ops.gather({a}, Tensor({[1, *range(1, n)]}), 0)"])
        self.put(f"{self.pick()} = {text}", depth)

    def in_place(self, depth, level):
        name, a = self.fresh(), self.pick()
        self.put(f"{name} = {self.pick()} * 1", depth)
        self.put(self.rng.choice([f"{name}[1] = {a}[0] * 0.5", f"{name}[0:{self.size - 1}] = {a}[1:] * 0.9",
                                  f"{name}[:] = {a} + 1",
                                  f"{name}[::2] = {self.number()}", f"{name}[-1] += {a}.sum() * 0.2"]), depth)
        self.names.append(name)

    def view(self, depth, level):
        name, view = self.fresh(), self.fresh("view")
        self.put(f"{name} = {self.pick()} * 1", depth)
        self.put(f"{view} = " + self.rng.choice([f"{name}[1:]", f"{name}[::2]", f"{name}.reshape({self.size}, 1)[:, 0]",
                                                 f"{name}[0:2]"]), depth)
        if self.rng.random() < 0.4:
            self.put(f"if {self.condition()}:", depth)
            depth += 1
        self.put(self.rng.choice([f"{view}[0] = {self.pick()}[1] * 0.7", f"{view}[1:] = {self.pick()}[0]",
                                  f"{name}[1] = {view}[0] * {self.number()}", f"{view}[:] = {view} * {view}[0]"]), depth)
        self.names.append(name)

    def augmented(self, depth, level):
        self.put(f"{self.pick()} {self.rng.choice(['+=', '-=', '*='])} {self.rng.choice(UNARY).format(a=self.pick())}", depth)

    def branch(self, depth, level):
        self.put(f"if {self.condition()}:", depth)
        self.block(depth + 1, self.rng.randint(1, 2), level - 1)
        if self.rng.random() < 0.6:
            self.put("else:", depth)
            self.block(depth + 1, self.rng.randint(1, 2), level - 1)

    def loop(self, depth, level):
        iterations, name = self.fresh("n"), self.pick()
        self.put(f"{iterations} = 0", depth)
        self.put(f"while {iterations} < {self.rng.randint(1, 4)} and ({name} * {name}).sum() < {self.rng.randint(2, 40)}:", depth)
        self.block(depth + 1, self.rng.randint(1, 2), level - 1)
        self.put(f"{name} = {name} * 1.3 + 0.1", depth + 1)
        self.put(f"{iterations} = {iterations} + 1", depth + 1)
        if self.rng.random() < 0.3:
            self.put(f"if {self.condition()}:", depth + 1)
            self.put("break", depth + 2)

    def count_loop(self, depth, level):
        i = self.fresh("i")
        self.put(f"for {i} in range({self.rng.randint(0, 6)}):", depth)
        if self.rng.random() < 0.3:
            self.put(f"if {self.condition()}:", depth + 1)
            self.put(self.rng.choice(["continue", "break"]), depth + 2)
        self.block(depth + 1, self.rng.randint(1, 2), level - 1)
        name = self.pick()
        self.put(f"{name} = ops.tanh({name} + {i} * 0.1)", depth + 1)

    def closure(self, depth, level):
        name, kept = self.fresh("f"), self.names
        held = self.pick()
        self.put(f"def {name}(t):", depth)
        self.names = ["t", held]
        text = self.expression()
        self.put(f"return {text} + {held}", depth + 1)
        self.names = kept
        self.put(f"{self.pick()} = {name}({self.pick()})", depth)

    def sequence(self, depth, level):
        items, total = self.fresh("items"), self.pick()
        self.put(f"{items} = [{self.pick()}, {self.expression()}]", depth)
        self.put(f"{items}.append({self.pick()} * 0.5)", depth)
        item = self.fresh("t")
        self.put(f"for {item} in {items}:", depth)
        self.put(f"{total} = {total} * 0.5 + {self.rng.choice(UNARY).format(a=item)}", depth + 1)

    def table(self, depth, level):
        table = self.fresh("d")
        self.put(f"{table} = {{'a': {self.pick()}, 'b': ({self.expression()}, {self.pick()})}}", depth)
        self.put(f"{table}['a'] = {table}['b'][0] + {table}['a']", depth)
        self.put(f"{self.pick()} = {table}['a'] * {table}['b'][1]", depth)

    def inner(self, depth, level):
        held, kept = self.pick(), self.names
        self.names = ["t", held]
        text = self.expression()
        self.names = kept
        rows = "ops.stack([{x}, {h}, {x} * {h}])" if self.size == 3 else "ops.expand_dims({x}, 1) * {h}"
        made = self.rng.choice(["ms.grad(lambda t: ({e}).sum())({x})", "ms.jvp(lambda t: {e}, {x}, {h})[1]",
                                "ms.vjp(lambda t: {e}, {x})[1]({h})[0]",
                                f"ms.vmap(lambda t: ({{e}}).sum())({rows})"])
        self.put(f"{self.pick()} = {made.format(e=text, x=self.pick(), h=held)}", depth)

    # ------------------------------------------------------------ Tensors whose size the data decides

    def sized(self, depth):
        """Statements on one variable of any length, in the end folded into a Tensor f64[n]."""
        rng, u = self.rng, self.fresh("u")
        self.put(f"{u} = " + rng.choice([f"{self.pick()}[{self.pick()} > {self.number()}]", f"{self.pick()} * 1",
                                         f"ops.concat([{self.pick()}, {self.pick()}])"]), depth)
        for _ in range(rng.randint(1, 3)):
            kinds = [self.grow, self.grow_in_branch, self.grow_in_loop, self.shrink_in_loop, self.grow_in_recursion]
            rng.choice(kinds)(u, depth, 1)
        self.put(rng.choice([f"{self.pick()} += ({u} * {u}).sum() * 0.1",
                             f"{self.pick()} = ops.concat([{u}, {self.pick()}])[:{self.size}]",
                             f"{self.pick()} *= ops.tanh({u}).sum() + {u}.shape[0] * 0.1"]), depth)

    def grown(self, u, i="2"):
        """A Tensor made of u, in most cases of another size."""
        a, b = self.pick(), self.number()
        return self.rng.choice([
            f"ops.concat([{u}, {a}])", f"ops.concat([{u}, {u} * 0.5])", f"{u}[1:]", f"{u}[{u} > {b}]", f"{u}[::2] * {a}.sum()",
            f"ops.concat([{u}[:{i}], {a} * {i}])", f"{u}[:{u}.shape[0] // 2]", f"ops.concat([{a}[{i}:], ops.sin({u})])",
            f"ops.tanh({u})", f"ops.concat([{u}[:2], {a}[{a} < {b}]])", f"ops.flip({u}, (0,)) * 0.8"])

    def grow(self, u, depth, level):
        self.put(f"{u} = {self.grown(u)}", depth)

    def grow_in_branch(self, u, depth, level):
        self.put(f"if {u}.sum() > {self.number()}:" if self.rng.random() < 0.5 else f"if {self.condition()}:", depth)
        self.grow(u, depth + 1, level)
        if self.rng.random() < 0.5:
            self.put("else:", depth)
            self.grow(u, depth + 1, level)

    def grow_in_loop(self, u, depth, level):
        i = self.fresh("i")
        self.put(f"for {i} in range({self.rng.randint(1, 4)}):", depth)
        if level and self.rng.random() < 0.4:
            self.rng.choice([self.grow_in_branch, self.grow_in_loop])(u, depth + 1, level - 1)
        self.put(f"{u} = {self.grown(u, i)}", depth + 1)
        if self.rng.random() < 0.2:
            self.put(f"if {u}.sum() < {self.number()}:", depth + 1)
            self.put("break", depth + 2)

    def shrink_in_loop(self, u, depth, level):
        way = self.rng.choice([f"{u}.sum() > {self.number()} and {u}.shape[0] > 1", f"{u}.shape[0] > 2", f"{u}.shape[0] > 1"])
        self.put(f"while {way}:", depth)
        self.put(f"{u} = " + self.rng.choice([f"ops.tanh({u}[1:]) * 0.9", f"{u}[:{u}.shape[0] - 1] * {self.pick()}[0]",
                                              f"{u}[1:] + {u}[0] * 0.3"]), depth + 1)

    def grow_in_recursion(self, u, depth, level):
        f, held = self.fresh("f"), self.pick()
        self.put(f"def {f}(t, n):", depth)
        self.put(f"if n <= 0{self.rng.choice(['', ' or t.shape[0] > 12', ' or t.sum() > 9'])}:", depth + 1)
        self.put("return t", depth + 2)
        kept, self.names = self.names, [held]
        self.put(f"t = {self.grown('t')}", depth + 1)
        self.names = kept
        self.put(f"return {f}(ops.concat([t, {held} * 0.3]), n - 1)", depth + 1)
        self.put(f"{u} = {f}({u}, {self.rng.randint(1, 3)})", depth)

    def program(self, sized=False):
        """The text of a function f(x, w); sized: with Tensors whose size the data decides."""
        self.put("def f(x, w):", 0)
        for _ in range(self.rng.randint(1, 2) if sized else self.rng.randint(2, 5)):
            self.statement(1, 1 if sized else 2)
        if sized:
            self.sized(1)
        self.put(f"return {self.pick()} + {self.pick()} * 0.1", 1)
        return "\n".join(self.lines) + "\n"


# ---------------------------------------------------------------- transforms: each gives a function (x, w) -> f64[n] again

def total(f):
    return lambda x, w: f(x, w).sum()


def value_and_grad(f):
    def run(x, w):
        value, slope = ms.value_and_grad(total(f))(x, w)
        return slope * value
    return run


def both_grads(f):
    def run(x, w):
        dx, dw = ms.grad(total(f), (0, 1))(x, w)
        return dx - dw
    return run


def vjp(f):
    def run(x, w):
        value, pull = ms.vjp(lambda t: f(t, w), x)
        return pull(value)[0]
    return run


def linearize(f):
    def run(x, w):
        value, push = ms.linearize(lambda t: f(t, w), x)
        return push(w) * value
    return run


def jacobian(jac, position):
    return lambda f: lambda x, w: jac(f, position)(x, w).sum(axis=0)


TRANSFORMS = {
    "grad": lambda f: ms.grad(total(f)),
    "grad of w": lambda f: ms.grad(total(f), 1),
    "both grads": both_grads,
    "value_and_grad": value_and_grad,
    "jvp": lambda f: lambda x, w: ms.jvp(lambda t: f(t, w), x, w)[1],
    "vjp": vjp,
    "linearize": linearize,
    "jacfwd": jacobian(ms.jacfwd, 0),
    "jacrev of w": jacobian(ms.jacrev, 1),
    "vmap": lambda f: lambda x, w: ms.vmap(f, (0, None))(ops.stack([x, w, x * 0.5]), w).mean(axis=0),
    "vmap of both": lambda f: lambda x, w: ms.vmap(f, (-1, 0), 1)(ops.stack([x, w], -1), ops.stack([w, x])).sum(axis=1),
    "jit": lambda f: ms.jit(f),
    "jit with remat": lambda f: ms.jit(f, remat="sqrt"),
    "recompute": lambda f: lambda x, w: ms.recompute(f, x, w),
}
MAPPING = {"jacfwd", "jacrev of w", "vmap", "vmap of both"}               # they map, and sizes would differ between elements
DERIVATIVES = ("grad", "grad of w", "both grads", "jvp", "vjp", "linearize")
DIRECTIONS = {"grad": (0, 1), "grad of w": (1, 1), "jvp": (0, 0)}         # (argument, 1 for the gradient of a sum)
_numbers = itertools.count()


def compile_program(text, name="f"):
    """The function of a text, whose lines errors can show."""
    file = f"<program {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {}
    exec(compile(text, file, "exec"), namespace)
    return namespace[name]


def is_sized(seed):
    """True if the case of a seed has Tensors whose size the data decides."""
    return random.Random(seed).random() < 0.25


def size_of(seed):
    """How long the Tensors of a case are."""
    rng = random.Random(f"size {seed}")
    return rng.choice(SIZES) if rng.random() < 0.25 else 3


def case(seed):
    """(program text, names of transforms inner first, x, w) of a seed."""
    rng = random.Random(seed)
    sized = rng.random() < 0.25
    size = size_of(seed)
    text = HEAD + Writer(rng, size).program(sized)
    names = sorted(set(TRANSFORMS) - MAPPING if sized else TRANSFORMS)
    if sized and rng.random() < 0.6:                         # the second order, or the third
        chain = [rng.choice(DERIVATIVES) for _ in range(rng.choice((2, 2, 3)))]
    else:
        chain = [rng.choice(names) for _ in range(rng.randint(1, 3))]
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    return text, chain, numbers.uniform(-1, 1, size), numbers.uniform(0.2, 1.2, size)


def transformed(f, chain):
    """f under the transforms of a chain, inner first."""
    for name in chain:
        f = TRANSFORMS[name](f)
    return f


def differences(f, name, x, w):
    """What the transform called `name` must make of f, by differences; None where they do not settle."""
    found = []
    for step in (2e-5, 1e-5):
        argument, summed = DIRECTIONS[name]
        ways = np.eye(len(x)) if summed else [w]
        parts = []
        for e in ways:
            def at(sign, e=e, step=step):
                args = [x, w]
                args[argument] = args[argument] + sign * step * e
                return in_python(f, *args)
            slope = (at(1) - at(-1)) / (2 * step)
            parts.append(slope.sum() if summed else slope)
        found.append(np.array(parts if summed else parts[0]))
    scale = 1 + np.abs(found[1]).max()
    return found[1] if np.isfinite(found[1]).all() and np.abs(found[0] - found[1]).max() < 1e-5 * scale else None


class Difference(AssertionError):
    """Two ways give different results."""


def compare(what, a, b, tolerance):
    if a.shape != b.shape or not np.allclose(a, b, rtol=tolerance, atol=tolerance * (1 + np.abs(b).max(initial=0)),
                                             equal_nan=True):
        raise Difference(f"{what}: {a} and {b}")


def in_python(f, *args):
    """f run operator by operator: gradients on tapes, vmap item by item, jvp as a gradient of a gradient."""
    with eager():
        return f(*map(Tensor, args)).asnumpy()


def as_graph(f, *args):
    """f as a typed graph whose markers are replaced, run by the reference interpreter."""
    made = specialise(f, tuple([constant(x).abstract for x in args]), {})
    graph = derive_graph(made.graph)
    inputs = [*args, *[p.default.array for p in graph.parameters if p.default is not None]]
    return np.asarray(run(graph, *inputs)[made.output.number])


def check(seed, compiled=False):
    """Run the case of a seed. Returns what was checked; raises : Difference, or the error of one of the ways.

    compiled : compare what eager mode and jit give too, machine code included
    """
    text, chain, x, w = case(seed)
    f = compile_program(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = transformed(f, chain)
        want = in_python(made, x, w)
        if not np.isfinite(want).all() or np.abs(want).max() > 1e6:
            return "not finite"
        compare("Python and graph", want, as_graph(made, x, w), 1e-7)
        done = ["graph"]
        if compiled:
            compare("Python and eager mode", want, made(Tensor(x), Tensor(w)).asnumpy(), 1e-7)
            graph = ms.jit(made)
            compare("Python and jit", want, graph(Tensor(x), Tensor(w)).asnumpy(), 1e-7)
            done.append("machine code" if not graph.compiled.in_python else "runs in Python")
        if chain[-1] in DIRECTIONS:
            slopes = differences(transformed(f, chain[:-1]), chain[-1], x, w)
            if slopes is not None:
                compare("differences", want, slopes, 2e-4)
                done.append("differences")
    return ", ".join(done)


def report(seed):
    """The program and the transforms of a seed, as text."""
    text, chain, x, w = case(seed)
    return f"seed {seed!r}: {' of '.join(reversed(chain))}\nx = {x.tolist()}, w = {w.tolist()}\n{text[len(HEAD):]}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the number of the first case")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--sized", action="store_true", help="only those with Tensors whose size the data decides")
    options = parser.parse_args(arguments)
    counts, wrong, start = {}, [], time.time()
    for k in range(options.first, options.first + options.count):
        seed = f"{options.seed}.{k}"
        if options.sized and not is_sized(seed):
            continue
        ms.set_context(jit_level="O1" if k % 50 == 0 else "O0")
        try:
            done = check(seed, compiled=k % 10 == 0)
        except Exception as error:                              # any error of any way is a find
            done = f"{type(error).__name__}"
            wrong.append(seed)
            print(f"--- {type(error).__name__}: {str(error)[:500]}\n{report(seed)}", flush=True)
        counts[done] = counts.get(done, 0) + 1
        if k % 50 == 49:
            print(f"up to {k + 1}, {time.time() - start:.0f} s: {counts}", flush=True)
    print(f"{options.count} cases: {counts}; {len(wrong)} finds: {' '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
