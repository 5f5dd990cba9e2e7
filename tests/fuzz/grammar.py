"""Random programs: Python source over Tensors, numbers, strings and containers, always finite and numerically tame.

    Grammar(choose).program()  ->  Program(body, calls, differentiable)

`choose(n)` gives an int below n; hypothesis hands one out, so that a program shrinks by smaller choices: each list of
alternatives begins with its simplest. Names carry one kind each, so most programs run through; the rest raises, which has
to be the same in all modes too. Floats are multiples of 1/8 almost everywhere, so that conditions do not hang on rounding;
what is computed in loops is kept small (`tamed`), and every loop and recursion counts.

Idea: Yang, Chen, Eide & Regehr 2011 (Csmith): programs without undefined behaviour, compared across compilers.
"""
from dataclasses import dataclass

from constructs import MoreStatements
from expressions import FLOAT_TYPES, Expressions

FLOATS = ("f32", "f64")
CONSTRUCTS = ("try", "with", "generator", "unbound", "mixed", "views", "recursion", "nested", "print", "class",
              "user_exception", "cell", "star", "sets", "backwards", "defaults", "big", "numpy", "lambdas", "text", "chained",
              "sizes")

MANAGER = """class Manager:
    def __init__(self, n):
        self.n = n
    def __enter__(self):
        state.n += 1
        return self.n
    def __exit__(self, kind, value, traceback):
        state.n -= 1
        return kind is not None and self.n > 2"""


# Recursions that give Tensors of other sizes than they are given: longer by the way back, by the way there, cut in halves.
GROWN = """def longer(n, z, x):
    if n <= 0:
        return z
    return ops.concat([longer(n - 1, z * 0.5, x), x])[:9]
def wider(n, z, x):
    if n <= 0 or z.sum() > 6:
        return z[1:]
    return wider(n - 1, ops.concat([z, x])[:7], x)
def halves(n, z, x):
    if n <= 0 or z.shape[0] < 2:
        return z * 0.5
    m = z.shape[0] // 2
    return ops.concat([halves(n - 1, z[:m], x), halves(n - 1, z[m:], x) * z[0]])"""


@dataclass(frozen=True)
class Program:
    """body: source text that defines `f` (and `loss`); calls: lists of argument specs; gradient: numbers of arguments to
    differentiate `loss` by; order: how often."""
    body: str
    calls: tuple
    gradient: tuple
    order: int = 1


class Grammar(Expressions, MoreStatements):
    """The statements. choose: n -> an int below n; without: names of CONSTRUCTS to leave out."""

    def __init__(self, choose, without=()):
        super().__init__(choose, without)
        self.lines, self.depth, self.loops, self.budget = [], 0, 0, 4 + choose(14)
        self.turning = 0                             # loops around, those of functions around too: nothing grows there
        self.function = None

    def line(self, text):
        """One line of source."""
        self.lines.append("    " * self.depth + text)

    # ---------------------------------------------------------------- the program

    def program(self):
        """The whole file's body, and with what to call it."""
        self.line(f"G = {self.choose(4)}")
        self.line("shared = [1, 2]")
        self.line("class Holder:")
        self.line("    pass")
        self.line("state = Holder()")
        self.line("state.n, state.weight = 2, 0.5")
        if self.allows("with"):
            self.lines += MANAGER.splitlines()
        self.preamble()
        self.outside = {"G": "int", "state.n": "int", "state.weight": "float", "shared": ("list", "int")}
        if self.allows("sizes"):
            self.lines += GROWN.splitlines()
        for number in range(self.choose(3)):
            self.helper(f"helper{number}")
        kinds = [self.argument_kind() for _ in range(1 + self.choose(4))]
        if not any(is_tensor(k) for k in kinds):
            kinds[0] = ("T", "f64", ("n",))
        names = [self.fresh(k) for k in kinds]
        result = [self.pick([k for k in kinds if is_tensor(k)])] + [self.value_kind() for _ in range(self.choose(3))]
        self.define("f", names, kinds, result)
        differentiable = [i for i, k in enumerate(kinds) if is_tensor(k) and k[1] in FLOATS]
        position = next((i for i, k in enumerate(result) if is_tensor(k) and k[1] in FLOATS), None)
        if position is not None and differentiable and self.chance(40):      # a gradient costs as much as all calls together
            self.line("def loss(*args):")
            self.line(f"    return f(*args)[{position}].sum()")
        else:
            differentiable = []
        calls = self.calls(kinds)
        exact = all(not is_tensor(k) or k[1] != "f32" for k in kinds)
        order = 2 if differentiable and exact and self.chance(30) else 1
        return Program("\n".join(self.lines) + "\n", calls, tuple(differentiable), order)

    def argument_kind(self):
        return self.pick([("T", "f64", ("n",)), ("T", "f64", ()), "int", ("T", "f32", ("n",)), ("T", "f64", ("n", "m")),
                          "bool", "float", ("T", "i32", ("n",)), ("list", "int"), ("dict", "int"), ("T", "i32", ()),
                          ("list", ("T", "f64", ("n",))), "str", ("tuple", "int", "float"), ("T", "b", ("n",)),
                          ("dict", ("T", "f64", ())), ("list", ("T", "f64", ())), ("T", "f32", ("n", "m"))])

    def calls(self, kinds):
        """Three argument lists: what varies from call to call is what guards and variables must see."""
        sizes = {"n": self.pick([2, 3, 1, 4, 0]) if self.chance(20) else 2, "m": self.pick([2, 3, 1])}
        made = []
        for number in range(3):
            if number and self.chance(12):
                sizes = {"n": self.pick([2, 3, 1, 5, 9, 33]), "m": self.pick([2, 3, 4, 17])}
            if number and self.chance(25):
                made.append(made[-1])
                continue
            made.append(tuple(self.argument(k, sizes) for k in kinds))
        return tuple(made)

    def argument(self, kind, sizes):
        """A description of one argument, of which both worlds make theirs: see `worlds.make`."""
        if kind in ("int", "float", "bool", "str"):
            return self.pick({"int": [1, 2, 0, -3, 5], "float": [0.5, -1.25, 2.0, 0.0], "bool": [True, False],
                              "str": ["a", "Bc", ""]}[kind])
        if kind[0] == "list":
            return ["list", *[self.argument(kind[1], sizes) for _ in range(self.pick([2, 3, 1, 0]))]]
        if kind[0] == "dict":
            return ["dict", *[(key, self.argument(kind[1], sizes)) for key in ("a", "b")]]
        if kind[0] == "tuple":
            return ["tuple", *[self.argument(k, sizes) for k in kind[1:]]]
        shape = tuple(sizes[s] for s in kind[2])
        count = 1
        for s in shape:
            count *= s
        values = {"b": [True, False], "i32": [1, -2, 0, 3]}.get(kind[1], [0.5, -1.0, 2.0, 0.0, -2.25, 3.5])
        return ["tensor", kind[1], shape, [self.pick(values) for _ in range(count)]]

    # ---------------------------------------------------------------- functions

    def define(self, name, names, kinds, result, header=None):
        """def name(names): a body that returns a tuple of `result` kinds (or one value, where it is a kind alone)."""
        outer = self.scope, self.frozen, self.loops, self.function, self.locals
        self.scope = {**(self.scope if self.depth else {}), **dict(zip(names, kinds))}
        self.frozen, self.loops, self.function = self.frozen | set(self.scope) - set(names), 0, result
        self.locals = set(names)
        self.line(header or f"def {name}({', '.join(names)}):")
        self.depth += 1
        if name == "f" and self.chance(25):
            self.line("global G")
            self.globals_declared = True
        self.block(1)
        self.line(f"return {self.returned()}")
        self.depth -= 1
        self.globals_declared = False
        self.scope, self.frozen, self.loops, self.function, self.locals = outer

    def returned(self):
        """What `return` gives in the present function."""
        if isinstance(self.function, list):
            return "(" + ", ".join(self.expression(k, 2) for k in self.function) + ",)"
        return self.expression(self.function, 2)

    def helper(self, name):
        """A function of its own, or a recursive one."""
        kinds = [self.value_kind() for _ in range(1 + self.choose(2))]
        result = self.value_kind()
        names = [self.fresh(k) for k in kinds]
        saved, self.budget = self.budget, 1 + self.choose(3)
        if self.allows("recursion") and self.chance(25):
            depth = self.fresh("int")
            self.line(f"def {name}({', '.join([depth, *names])}):")
            scope, frozen = self.scope, self.frozen
            self.scope, self.frozen = dict(zip([depth, *names], ["int", *kinds])), self.frozen | {depth}
            self.depth += 1
            self.line(f"if {depth} <= 0:")
            self.line(f"    return {self.expression(result, 1)}")
            if self.chance(40):
                self.line(f"if {self.condition(1)}:")
                self.line(f"    return {self.expression(result, 1)}")
            got = self.fresh(result)
            self.line(f"{got} = {name}({', '.join([depth + ' - 1', *[self.expression(k, 1) for k in kinds]])})")
            self.scope[got] = result
            self.line(f"return {self.tamed(result, self.expression(result, 2))}")
            self.depth -= 1
            self.scope, self.frozen = scope, frozen
            self.functions.append((name, ["depth", *kinds], result))
        else:
            self.define(name, names, kinds, result)
            self.functions.append((name, kinds, result))
        self.budget = saved

    # ---------------------------------------------------------------- blocks

    def block(self, least=1):
        """A few statements; at least `least`, while the budget lasts."""
        count = least + self.choose(5)
        for number in range(count):
            if self.budget <= 0 and number >= least:
                break
            self.statement()

    def inner(self, extra=None, loop=False):
        """An indented block with a scope of its own; gives the scope at its end."""
        before = self.scope
        self.scope = {**before, **(extra or {})}
        self.frozen = self.frozen | set(extra or ())
        self.depth += 1
        self.loops += loop
        self.turning += loop
        self.block()
        self.loops -= loop
        self.turning -= loop
        self.depth -= 1
        self.frozen = self.frozen - (set(extra or ()) - set(before))
        after, self.scope = self.scope, before
        return after

    def merge(self, scopes):
        """Go on with the names that all of `scopes` have; with some that may be unbound, now and then."""
        common = {k: v for k, v in scopes[0].items() if all(s.get(k) == v for s in scopes)}
        if self.allows("unbound") and self.chance(4):
            for s in scopes:
                common.update({k: v for k, v in s.items() if k not in common})
        self.scope = common

    def statement(self):
        """One statement, simple ones more often."""
        self.budget -= 1
        nested = self.depth < 4 and self.budget > 0
        kinds = [self.assign, self.assign, self.augmented, self.assign, self.if_, self.for_range, self.tensor_store,
                 self.list_change, self.dict_change, self.while_, self.for_items, self.unpack, self.printed, self.call_fn,
                 self.outside_store, self.jump, self.nested_function, self.match, self.raise_, self.comprehension,
                 self.assert_, self.closure, self.try_, self.with_, self.generator, self.delete, self.view, self.sized,
                 *self.more()]
        chosen = self.pick(kinds)
        compound = (self.if_, self.for_range, self.while_, self.for_items, self.nested_function, self.match, self.try_,
                    self.with_, self.generator, self.sized)
        if chosen in compound and not nested or chosen() is False:
            self.assign()

    # ---------------------------------------------------------------- simple statements

    def assignable(self, wanted=lambda kind: True):
        """Names of this function that may be assigned."""
        return [n for n, k in self.scope.items() if n not in self.frozen and wanted(k) and "." not in n]

    def assign(self):
        """name = expression, to an old name or a new one."""
        old = self.assignable(is_plain)
        if old and not self.chance(45):
            name = self.pick(old)
            kind = self.scope[name]
        else:
            kind = self.value_kind()
            name = self.fresh(kind)
        value = self.expression(kind, 3)
        if self.allows("mixed") and kind in ("int", "float", "bool") and self.chance(3):
            value = self.expression(self.pick(["float", "int", "bool"]), 2)
        self.line(f"{name} = {self.tamed(kind, value)}")
        self.scope[name] = kind

    def augmented(self):
        """name op= expression"""
        old = self.assignable(lambda k: k in ("int", "float", "str") or is_tensor(k) and k[1] != "b" or k[0] == "list")
        if not old:
            return False
        name = self.pick(old)
        kind = self.scope[name]
        if kind == "str":
            self.line(f"{name} = ({name} + {self.expression('str', 1)})[-6:]")
        elif kind[0] == "list":
            if self.turning:
                return False
            self.line(f"{name} += [{self.expression(kind[1], 1)}]")
        elif kind == "int":
            self.line(f"{name} {self.pick(['+', '-', '//', '%'])}= {self.pick(['1', '2', '3', '-2'])}")
        elif kind == "float":
            self.line(f"{name} {self.pick(['+', '-', '/'])}= {self.pick(['0.5', '2.0', '-4.0'])}")
        else:
            op = self.pick(["+", "-", "*"] + ["/"] * (kind[1] in FLOATS))
            value = self.operand_for(kind, 2) if op in "+-" else self.pick(["2", "-1"])
            self.line(f"{name} {op}= {value}")
            if self.loops:
                self.line(f"{name} = {self.tamed(kind, name)}")

    def unpack(self):
        """a, b = b, a;  a, *rest = list;  a, b = tuple"""
        old = self.assignable(is_plain)
        if len(old) >= 2 and self.chance(60):
            a = self.pick(old)
            b = self.pick(old)
            if a == b:
                return False
            self.line(f"{a}, {b} = {self.tamed(self.scope[a], self.expression(self.scope[a], 2))}, "
                      f"{self.tamed(self.scope[b], self.expression(self.scope[b], 2))}")
            return None
        lists = [n for n, k in self.scope.items() if k[0] == "list"]
        if not lists:
            return False
        source = self.pick(lists)
        kind = self.scope[source]
        head, rest = self.fresh(kind[1]), self.fresh(kind)
        self.line(f"{head}, *{rest} = {source}")
        self.scope[head], self.scope[rest] = kind[1], kind
        return None

    def tensor_store(self):
        """x[i] = value, x[a:b] += value, x[mask] = value"""
        names = [n for n, k in self.scope.items() if is_tensor(k) and len(k[2]) >= 1]
        if not names:
            return False
        name = self.pick(names)
        kind = self.scope[name]
        index = self.pick(["0", "-1", "1:", ":2", "::2", "...", f"({self.expression('int', 1)}) % len({name})"])
        op = self.pick(["=", "=", "+=", "*="]) if kind[1] != "b" else "="
        scalar = ("T", kind[1], ())
        value = self.pick([lambda: self.number_for(kind), lambda: self.expression(scalar, 1)])()
        if op == "+=" and self.loops:
            op = "="
        if op == "*=":
            value = "-1"
        self.line(f"{name}[{index}] {op} {value}")
        return None

    def view(self):
        """row = x[0]: a view, whose change is one of x."""
        if not self.allows("views"):
            return False
        names = [n for n, k in self.scope.items() if is_tensor(k) and len(k[2]) >= 1]
        if not names:
            return False
        source = self.pick(names)
        kind = self.scope[source]
        how = self.pick(["1:", "0", "reshape"] if len(kind[2]) == 2 else ["1:", "::-1"])
        if how == "reshape":
            made, text = ("T", kind[1], ("nm",)), f"{source}.reshape((-1,))"
        elif how == "0":
            made, text = ("T", kind[1], ("m",)), f"{source}[0]"
        else:
            made, text = ("T", kind[1], ("part", *kind[2][1:])), f"{source}[{how}]"
        name = self.fresh(made)
        self.line(f"{name} = {text}")
        self.line(f"{name}[{self.pick(['0', ':1', '...'])}] = {self.number_for(kind)}")
        return None

    def list_change(self):
        """append, insert, pop, item, slice, del, reverse"""
        names = [n for n, k in self.scope.items() if k[0] == "list"]
        names += ["shared"] if self.chance(30) else []
        if not names:
            return False
        name = self.pick(names)
        element = (self.scope.get(name) or self.outside[name])[1]
        value = self.tamed(element, self.expression(element, 2))
        if self.turning:
            change = self.pick([f"{name}[0] = {value}", f"{name}.reverse()", f"{name}[-1] = {value}"])
        else:
            change = self.pick([f"{name}.append({value})", f"{name}[0] = {value}", f"{name}.insert(1, {value})",
                                f"{name}.pop()", f"{name}[1:] = [{value}]", f"{name}.extend([{value}, {value}])",
                                f"del {name}[0]", f"{name}.reverse()", f"{name} *= 2", f"{name}.clear()"])
            if change.endswith("*= 2") and (name in self.frozen or name == "shared"):
                change = f"{name}.reverse()"
        self.line(change)
        return None

    def dict_change(self):
        """d[key] = value, del, update, pop, setdefault"""
        names = [n for n, k in self.scope.items() if k[0] == "dict"]
        if not names:
            return False
        name = self.pick(names)
        element = self.scope[name][1]
        value = self.tamed(element, self.expression(element, 2))
        key = self.pick(["'a'", "'b'"])
        change = self.pick([f"{name}[{key}] = {value}", f"{name}.update(b={value})", f"{name}.setdefault('c', {value})"]
                           + ([] if self.turning else [f"{name}['d'] = {value}", f"del {name}[{key}]",
                                                     f"{name}.pop({key})"]))
        self.line(change)
        return None

    def printed(self):
        """print(values): its text is an effect that has its place."""
        if not self.allows("print"):
            return False
        values = [self.expression(self.value_kind(), 1) for _ in range(1 + self.choose(2))]
        self.line(f"print({', '.join(values)})")
        return None

    def call_fn(self):
        """result = helper(arguments)"""
        if not self.functions:
            return False
        name, kinds, result = self.pick(self.functions)
        target = self.fresh(result)
        self.line(f"{target} = {self.tamed(result, self.call_text(name, kinds, 2))}")
        self.scope[target] = result
        return None

    def outside_store(self):
        """state.n = value, G += 1"""
        choice = self.choose(3)
        if choice == 0:
            self.line(f"state.n = {self.tamed('int', self.expression('int', 2))}")
        elif choice == 1:
            self.line(f"state.weight = {self.tamed('float', self.expression('float', 2))}")
        elif self.globals_declared and self.function is not None:
            self.line(f"G = {self.tamed('int', self.expression('int', 2))}")
        else:
            self.line("state.n += 1")

    def assert_(self):
        """assert, mostly of what holds"""
        self.line(f"assert {self.condition(2)} or {self.expression('int', 1)} < 9, {self.expression('str', 1)}")

    def delete(self):
        """del name"""
        old = self.assignable(is_plain)
        if not old or self.depth > 1:
            return False
        name = self.pick(old)
        self.line(f"del {name}")
        del self.scope[name]
        return None

    def raise_(self):
        """if condition: raise; now and then for certain, so that nothing behind the call that does it is executed"""
        indent = "" if self.chance(5) else "    "
        if indent:
            self.line(f"if {self.condition(2)} and {self.condition(1)}:")
        cls = self.pick(["ValueError", "KeyError", "RuntimeError"])
        self.line(f"{indent}raise {cls}({self.expression(self.pick(['str', 'int']), 1)})")

    def jump(self):
        """break, continue, or an early return, under a condition"""
        self.line(f"if {self.condition(2)}:")
        if self.loops and self.chance(70):
            self.line(f"    {self.pick(['break', 'continue'])}")
        else:
            self.line(f"    return {self.returned()}")

    # ---------------------------------------------------------------- sizes that data decides

    def sized(self):
        """A Tensor whose size data decides: made, then changed in a row, a branch, a loop or a recursion."""
        sources = [n for n, k in self.scope.items() if is_tensor(k) and k[1] in FLOATS and len(k[2]) == 1 and k[2] != ("part",)]
        if not self.allows("sizes") or not sources:
            return False
        source = self.pick(sources)
        kind = ("T", self.scope[source][1], (f"g{self.count}",))            # a size of its own
        u = self.fresh(kind)
        self.line(f"{u} = " + self.pick([f"{source} * 1", f"{source}[{source} > {self.number_for(kind)}]",
                                         f"ops.concat([{source}, {source}])", f"{source}[1:] * 1"]))
        for _ in range(1 + self.choose(3)):
            change = self.pick([self.resize, self.resize_in_branch, self.resize_in_loop, self.resize_while, self.resize_by_call])
            change(u, source)
        self.scope[u] = kind
        return None

    def resized(self, u, source):
        """An expression like u, mostly of another size, of at most 9 elements."""
        kind = self.scope[source]
        return self.pick([
            f"{u}[1:]", f"ops.concat([{u}, {source}])[:9]", f"{u}[{u} > {self.number_for(('T', 'f64', ()))}]", f"{u}[::2] * 0.5",
            f"{u}[:{u}.shape[0] // 2]", f"ops.concat([{u}[:2], ops.tanh({u})])[-9:]", f"{u}[:{source}.shape[0]]",
            f"ops.concat([{u}[{u} < 1], {u}[:1] * {u}.sum()])", f"ops.tanh({u})",
            f"{u}[-3:]", f"{u}[:-2] * 0.5", f"{u}[-2::-1]", f"{u}[:-3:-1]", f"{u}[{u}.shape[0] - {source}.shape[0]:]",
            f"{u}[:{u}.shape[0] - {source}.shape[0]:{self.pick(['2', '-1'])}]", f"ops.clamp({u} * {u}.sum(), -8, 8)",
            f"{u}[:({self.int_(1)}) % 5]", f"{u}[({self.int_(1)}) % 3:]", f"{u}[-(({self.int_(1)}) % 4):]",
            f"ops.concat([{u}, ops.ones((({self.int_(1)}) % 3,), {FLOAT_TYPES[kind[1]]}) * 0.5])[:9]",
            f"ops.concat([{u}, {source}[{self.tensor(kind, 1)} > {self.number_for(kind)}]])[-9:]"])

    def resize(self, u, source):
        self.line(f"{u} = {self.resized(u, source)}")

    def resize_in_branch(self, u, source):
        self.line(f"if {self.pick([f'{u}.sum() > 0.5', f'{u}.shape[0] > 2', self.condition(2)])}:")
        self.line(f"    {u} = {self.resized(u, source)}")
        if self.chance(50):
            self.line("else:")
            self.line(f"    {u} = {self.resized(u, source)}")

    def resize_in_loop(self, u, source):
        i = self.fresh("int")
        self.line(f"for {i} in range({self.pick(['3', '2', f'({self.int_(1)}) % 5'])}):")
        leave = self.pick(["", f"if {u}.shape[0] > 4:", f"if {u}.sum() < 0:", f"if {self.condition(1)}:"])
        if leave:
            self.line(f"    {leave}")
            self.line(f"        {self.pick(['break', 'continue', f'return {self.returned()}'])}")
        self.line(f"    {u} = {self.resized(u, source)}")

    def resize_while(self, u, source):
        self.line(f"while {u}.shape[0] > {self.pick(['2', '1', '0'])}{self.pick(['', f' and {u}.sum() > -1'])}:")
        self.line(f"    {u} = {self.pick([f'ops.tanh({u}[1:])', f'{u}[:-1] * 0.5', f'{u}[1:] + {u}[0]'])}")

    def resize_by_call(self, u, source):
        name = self.pick(["longer", "wider", "halves"])
        self.line(f"{u} = {name}({self.pick(['2', '3', '1', f'({self.int_(1)}) % 4'])}, {u}, {source})")

    # ---------------------------------------------------------------- compound statements

    def if_(self):
        """if, elif, else"""
        scopes = []
        self.line(f"if {self.condition(3)}:")
        scopes.append(self.inner())
        while self.chance(25):
            self.line(f"elif {self.condition(2)}:")
            scopes.append(self.inner())
        if self.chance(60):
            self.line("else:")
            scopes.append(self.inner())
        else:
            scopes.append(self.scope)
        self.merge(scopes)

    def loop_else(self, scope):
        """`else` of a loop."""
        if self.chance(12):
            self.line("else:")
            self.inner()
        self.merge([self.scope, scope])

    def for_range(self):
        """for i in range(..)"""
        i = self.fresh("int")
        stop = self.pick(["3", "6", f"({self.expression('int', 1)}) % 4", "2, 8, 2", "4, 0, -1"] + (
            [] if self.loops else [f"({self.expression('int', 1)}) % 7"]))
        self.line(f"for {i} in range({stop}):")
        self.loop_else(self.inner({i: "int"}, loop=True))

    def for_items(self):
        """for over a list, a Tensor, zip, enumerate, dict.items()"""
        sources = [(n, k) for n, k in self.scope.items() if k[0] in ("list", "dict") or is_tensor(k) and len(k[2]) >= 1]
        if not sources:
            return False
        name, kind = self.pick(sources)
        element = kind[1] if kind[0] in ("list", "dict") else ("T", kind[1], kind[2][1:])
        x = self.fresh(element)
        if kind[0] == "dict":
            key = self.fresh("str")
            self.line(f"for {key}, {x} in {name}.items():")
            extra = {key: "str", x: element}
        elif self.chance(30):
            i = self.fresh("int")
            self.line(f"for {i}, {x} in enumerate({name}):")
            extra = {i: "int", x: element}
        elif self.chance(25):
            other, second = self.pick(sources)
            if second[0] == "dict":
                return self.for_range()
            y_kind = second[1] if second[0] == "list" else ("T", second[1], second[2][1:])
            y = self.fresh(y_kind)
            self.line(f"for {x}, {y} in zip({name}, {other}):")
            extra = {x: element, y: y_kind}
        else:
            self.line(f"for {x} in {name}:")
            extra = {x: element}
        kept = self.frozen
        self.frozen = self.frozen | {name}
        scope = self.inner(extra, loop=True)
        self.frozen = kept
        self.loop_else(scope)
        return None

    def while_(self):
        """while with a counter; its condition may hang on data"""
        k, stop = self.fresh("int"), self.pick(["3", "6", f"({self.expression('int', 1)}) % 5"])
        self.line(f"{k} = {self.choose(2)}")
        self.scope[k] = "int"
        more = self.pick(["", "", f" and {self.condition(2)}"])
        self.line(f"while {k} < {stop}{more}:")
        kept = self.frozen
        self.frozen = self.frozen | {k}
        self.line(f"    {k} += 1")
        scope = self.inner({}, loop=True)
        self.frozen = kept
        self.loop_else(scope)

    def nested_function(self):
        """def inside, with nonlocal now and then"""
        if not self.allows("nested"):
            return False
        kinds = [self.value_kind() for _ in range(self.choose(3))]
        names, result = [self.fresh(k) for k in kinds], self.value_kind()
        name = f"inner{len(self.functions)}_{self.depth}"
        own = [n for n in self.assignable(lambda k: k in ("int", "float") or is_tensor(k)) if n in self.locals]
        saved, self.budget = self.budget, min(self.budget, 3)
        outer = self.scope, self.frozen, self.loops, self.function, self.locals
        self.line(f"def {name}({', '.join(names)}):")
        self.depth += 1
        free = set(self.scope)
        if own and self.chance(50):
            target = self.pick(own)
            self.line(f"nonlocal {target}")
            free -= {target}
        self.scope = {**self.scope, **dict(zip(names, kinds))}
        self.frozen, self.loops, self.function, self.locals = self.frozen | free, 0, result, set()
        self.block(1)
        self.line(f"return {self.returned()}")
        self.depth -= 1
        self.budget = saved
        self.scope, self.frozen, self.loops, self.function, self.locals = outer
        target = self.fresh(result)
        for _ in range(1 + self.choose(2)):
            self.line(f"{target} = {self.tamed(result, self.call_text(name, kinds, 1))}")
        self.scope[target] = result
        return None

    def closure(self):
        """A lambda, called at once or given to another function"""
        a, b = self.value_kind(), self.value_kind()
        parameter, name, target = self.fresh(a), f"fn{self.number()}", self.fresh(b)
        saved = self.scope
        self.scope = {**self.scope, parameter: a}
        self.in_lambda += 1
        body = self.expression(b, 2)
        self.in_lambda -= 1
        self.scope = saved
        self.line(f"{name} = lambda {parameter}: {body}")
        self.line(f"{target} = {self.tamed(b, f'{name}({self.expression(a, 1)})')}")
        self.scope[target] = b

    def comprehension(self):
        """[e for x in list if c], sum(e for ..), {k: v for ..}"""
        sources = [(n, k[1]) for n, k in self.scope.items() if k[0] == "list"] + [("range(3)", "int")]
        source, element = self.pick(sources)
        x, kind = self.fresh(element), self.pick(["int", "float", element])
        saved = self.scope
        self.scope = {**self.scope, x: element}
        self.in_lambda += 1
        value, test = self.expression(kind, 2), self.pick(["", f" if {self.expression('bool', 1)}"])
        self.in_lambda -= 1
        self.scope = saved
        name = self.fresh(("list", kind))
        self.line(f"{name} = [{value} for {x} in {source}{test}]")
        self.scope[name] = ("list", kind)

    def match(self):
        """match on a number or a tuple"""
        if self.chance(40):
            self.line(f"match ({self.expression('int', 1)}, {self.expression('int', 1)}):")
            i = self.fresh("int")
            patterns = [("(0, 1)", {}), (f"(0, {i})", {i: "int"}), (f"({i}, 1) if {i} > 1", {i: "int"})]
        else:
            self.line(f"match {self.expression('int', 2)}:")
            i = self.fresh("int")
            patterns = [("0", {}), ("1 | 2", {}), (f"{i} if {i} < 0", {i: "int"})]
        scopes = []
        self.depth += 1
        for pattern, names in patterns[:1 + self.choose(3)]:
            self.line(f"case {pattern}:")
            scopes.append(self.inner(names))
        if self.chance(60):
            self.line("case _:")
            scopes.append(self.inner())
        else:
            scopes.append(self.scope)
        self.depth -= 1
        self.merge(scopes)

    def try_(self):
        """try, except, else, finally"""
        if not self.allows("try"):
            return False
        self.line("try:")
        scopes = [self.inner()]
        if self.chance(75):
            cls = self.pick(["ZeroDivisionError", "(ValueError, KeyError)", "Exception", "IndexError"])
            self.line(f"except {cls}:")
            self.inner()
            scopes = [self.scope]
        else:
            self.line("finally:")
            self.inner()
        self.merge(scopes)
        return None

    def with_(self):
        """with a context manager of the user's"""
        if not self.allows("with"):
            return False
        self.line(f"with Manager({self.expression('int', 1)}):")
        self.merge([self.inner()])
        return None

    def generator(self):
        """a generator function that a loop consumes"""
        if not self.allows("generator"):
            return False
        name, i, kind = f"items{self.number()}", self.fresh("int"), self.value_kind()
        self.line(f"def {name}({i}):")
        self.line(f"    while {i} > 0:")
        self.line(f"        {i} -= 1")
        saved = self.scope
        self.scope = {**self.scope, i: "int"}
        self.in_lambda += 1
        self.line(f"        yield {self.expression(kind, 1)}")
        self.in_lambda -= 1
        self.scope = saved
        x = self.fresh(kind)
        self.line(f"for {x} in {name}(({self.expression('int', 1)}) % 3):")
        self.merge([self.scope, self.inner({x: kind}, loop=True)])
        return None


def is_tensor(kind):
    """True for a kind ("T", dtype, sizes)."""
    return kind[0] == "T"


def is_plain(kind):
    """True for what expressions are made of: no container."""
    return is_tensor(kind) or kind in ("int", "float", "bool", "str")
