"""More statements of random programs, each a construct that can be left out: `grammar.CONSTRUCTS` names them.

They are drawn behind the choices of the other statements, so that programs without them are what they were.
"""

CLASSES = """class Failure(Exception):
    def __init__(self, code, note="none"):
        super().__init__(code, note)
        self.code = code
class Counter:
    step = 2
    def __init__(self, n, x):
        self.n, self.x = n, x
    @property
    def twice(self):
        return self.n * 2
    def add(self, k=1, *rest, scale=1):
        self.n = (self.n + k * scale + len(rest) + self.step) % 13
        return self
    def scaled(self, w):
        self.x = self.x * w
        return self.x
    def __len__(self):
        return abs(self.n)
    def __eq__(self, other):
        return isinstance(other, Counter) and self.n == other.n
    @staticmethod
    def half(n):
        return n // 2
    @classmethod
    def make(cls, x):
        return cls(cls.step, x)
class Doubled(Counter):
    step = 3
    def add(self, k=1, *rest, scale=2):
        return super().add(k, *rest, scale=scale)"""
CELL = """class Net(Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([0.5, -1.0])), name="w")
        self.calls = 0
    def construct(self, x):
        self.calls = self.calls + 1
        return x * self.w.sum() + self.calls
net = Net()"""


class MoreStatements:
    """What a Grammar adds to its statements; each method gives False where there is nothing to write it with."""

    def more(self):
        """The statements that are not left out."""
        return [method for name, method in (("class", self.object_), ("user_exception", self.user_exception),
                ("cell", self.cell), ("star", self.star), ("sets", self.sets), ("backwards", self.backwards),
                ("defaults", self.defaults), ("big", self.big), ("numpy", self.numpy_), ("lambdas", self.lambdas),
                ("text", self.text), ("chained", self.chained)) if self.allows(name)]

    def preamble(self):
        """What the file defines for these statements."""
        if self.allows("class") or self.allows("user_exception"):
            self.lines += CLASSES.splitlines()
        if self.allows("cell"):
            self.lines += CELL.splitlines()

    def keep(self, kind, text):
        """A new variable for a value."""
        name = self.fresh(kind)
        self.line(f"{name} = {self.tamed(kind, text)}")
        self.scope[name] = kind

    def vector(self):
        """The kind of a Tensor variable with axes, or None."""
        kinds = [k for k in self.scope.values() if k[0] == "T" and len(k[2]) == 1 and k[1] == "f64"]
        return self.pick(kinds) if kinds else None

    def object_(self):
        """An object of a user's class: methods, attributes, properties, inheritance"""
        name, kind = f"obj{self.number()}", self.vector() or ("T", "f64", ())
        cls = self.pick(["Counter", "Doubled"])
        x = self.expression(kind, 1)
        n = self.expression("int", 1)
        self.line(f"{name} = " + self.pick([f"{cls}({n}, {x})", f"{cls}.make({x})"]))
        for _ in range(1 + self.choose(3)):
            self.line(self.pick([
                f"{name}.add({self.expression('int', 1)})", f"{name}.add(1, 2, scale={self.expression('int', 0)})",
                f"{name}.n += {self.expression('int', 0)}", f"{name}.scaled({self.pick(['0.5', '-1'])})",
                f"{name}.x = {self.expression(kind, 1)}", f"{name}.step = 4",
                f"if {self.condition(1)}: {name}.add({self.expression('int', 0)})"]))
        self.keep("int", self.pick([f"{name}.n", f"{name}.twice", f"len({name})", f"{name}.half({name}.n)",
                                    f"int({name} == {cls}(1, 2))", f"getattr({name}, 'step')",
                                    f"int(hasattr({name}, 'none'))"]))
        self.keep(kind, f"{name}.x")

    def user_exception(self):
        """An exception of a user's class, with attributes, raised by data and caught"""
        i = self.fresh("int")
        self.line("try:")
        self.line(f"    {i} = {self.expression('int', 1)}")
        self.line(f"    if {self.condition(2)}:")
        self.line(f"        raise Failure({self.expression('int', 1)}{self.pick(['', ', note=str(' + i + ')'])})")
        self.line(f"    {i} = {i} // ({self.expression('int', 1)})")
        self.line("except Failure as error:")
        self.line(f"    {i} = error.code + len(error.args)")
        if self.chance(50):
            self.line(f"    print(type(error).__name__, {self.pick(['error', 'error.args', 'repr(error)'])})")
        if self.chance(60):
            self.line("except ZeroDivisionError as error:")
            self.line(f"    {i} = len(str(error))")
        if self.chance(30):
            self.line("else:")
            self.line(f"    {i} = {i} + 1")
        self.line(f"{i} = {i} % 11")
        self.scope[i] = "int"

    def cell(self):
        """A Cell with a Parameter, which is assigned to now and then"""
        kind = self.vector()
        if kind is None:
            return False
        if self.chance(40):
            self.line(self.pick([f"net.w[0] = {self.number_for(kind)}", "net.w[:] = net.w * 0.5", "net.w *= -1",
                                 f"net.w[1] = {self.expression('float', 1)}"]))
        self.keep(kind, f"net({self.expression(kind, 1)})")
        return None

    def star(self):
        """Calls and literals with stars"""
        lists = [n for n, k in self.scope.items() if k == ("list", "int")] + ["(1, 2)"]
        items = self.pick(lists)
        self.keep("int", self.pick([f"max(*{items}, {self.expression('int', 0)})", f"sum([*{items}, *{items}])",
                                    f"len((*{items}, {self.expression('int', 0)}))",
                                    f"(lambda *a, **k: len(a) + k.get('b', 0))(*{items}, **{{'b': "
                                    f"{self.expression('int', 0)}}})",
                                    f"dict(a=1, **{{'b': {self.expression('int', 0)}}})['b']"]))

    def sets(self):
        """Set and dict comprehensions, set operators"""
        i = self.fresh("int")
        source = self.pick([n for n, k in self.scope.items() if k == ("list", "int")] + ["range(4)", "(1, 2, 2)"])
        self.keep("int", self.pick([
            f"len({{{i} % 3 for {i} in {source}}})", f"sum({{{i}: {i} * 2 for {i} in {source}}}.values())",
            f"len({{1, 2, 5}} & {{{i} for {i} in {source}}})", f"sorted({{{i} % 4 for {i} in {source}}} | {{7}})[-1]",
            f"int({self.expression('int', 0)} in {{1, 2, 3}})",
            f"len([{i} for {i} in {source} for _ in range({i} % 3) if {i} > 0])"]))

    def backwards(self):
        """Slices with negative steps and with bounds that are computed"""
        names = [n for n, k in self.scope.items() if k[0] == "T" and len(k[2]) == 1 and k[1] == "f64"]
        start = self.expression("int", 0)
        if names and self.chance(60):
            name = self.pick(names)
            if self.chance(30):
                self.line(f"{name}[::-1] = {self.pick([name + ' * 2', '1', name])}")
            index = self.pick(["::-2", "-1::-1", ":-1", f"{start}:", "::2"])
            self.keep(("T", "f64", ()), f"{name}[{index}].sum()")
        else:
            index = self.pick(["::-1", "-2:", ":-1", f"{start}:"])
            self.keep("str", f"({self.expression('str', 1)})[{index}]")

    def defaults(self):
        """A nested function with defaults and keywords"""
        name, kind = f"inner{self.number()}", self.pick(["int", "float", ("T", "f64", ())])
        a, b = self.fresh(kind), self.fresh("int")
        self.line(f"def {name}({a}, {b}={self.expression('int', 1)}, *, flag={self.expression('bool', 0)}):")
        saved = self.scope, self.in_lambda
        self.scope, self.in_lambda = {**self.scope, a: kind, b: "int"}, self.in_lambda + 1
        self.line(f"    return ({self.expression(kind, 2)}) if flag else {a}")
        self.scope, self.in_lambda = saved
        more = self.pick(["", ", 2", f", {b}=3", ", flag=True", ", 1, flag=False"])
        self.keep(kind, f"{name}({self.expression(kind, 1)}{more})")

    def big(self):
        """Ints beyond 64 bits"""
        self.keep("int", f"({self.expression('int', 1)} + {self.pick(['2 ** 40', '3 ** 30', '10 ** 18'])}) * "
                         f"{self.pick(['1', '2 ** 30', self.expression('int', 0), '10 ** 12'])} "
                         f"{self.pick(['%', '//'])} {self.pick(['1000003', '7', '(2 ** 63 - 1)'])}")

    def numpy_(self):
        """NumPy in the middle"""
        kind = self.vector()
        if kind is None:
            return False
        x = self.expression(kind, 1)
        self.keep(kind, self.pick([f"Tensor(np.sort(({x}).asnumpy()))", f"Tensor(np.cumsum(({x}).asnumpy()))",
                                   f"Tensor(({x}).asnumpy() * 2)", f"({x}) + float(np.sum(({x}).asnumpy()))",
                                   f"Tensor(np.where(({x}).asnumpy() > 0, 1.0, 0.5))"]))
        if self.chance(30):
            name = self.names_of(kind)[0]
            self.line(self.pick([f"{name}.asnumpy()[...] = 0.5", f"np.add({name}.asnumpy(), 1.0, out={name}.asnumpy())",
                                 f"array = {name}.asnumpy(); array *= 0.5"]))
        return None

    def lambdas(self):
        """Functions in lists and dicts, partial application, map and filter"""
        kind = self.pick(["int", "float"])
        a = self.fresh(kind)
        saved = self.scope, self.in_lambda
        self.scope, self.in_lambda = {**self.scope, a: kind}, self.in_lambda + 1
        bodies = [self.expression(kind, 1) for _ in range(2)]
        self.scope, self.in_lambda = saved
        table = f"[lambda {a}: {bodies[0]}, lambda {a}, w=2: {bodies[1]}]"
        value = self.expression(kind, 0)
        self.keep(kind, self.pick([f"{table}[{self.expression('int', 0)} % 2]({value})", f"{table}[1]({value}, w=3)",
                                   f"sum(fn({value}) for fn in {table})",
                                   f"{{'a': {table}[0]}}['a']({value})", f"max(map({table}[0], ({value}, 1)))",
                                   f"len(list(filter({table}[0], [{value}, 0, 1])))" if kind == "int" else
                                   f"{table}[0]({value})"]))

    def text(self):
        """Texts with formats"""
        i, w = self.one_line("int"), self.one_line("float")
        self.keep("str", self.pick([f"f'{{{i}:03d}}|{{{w}:+.3e}}'", f"f'{{{i}:>6}}{{{w}!r:<9}}'", f"'%d and %.2f' % ({i}, {w})",
                                    f"'{{}}-{{a}}'.format({i}, a={w})", f"str([{i}, {w}])", f"str(({i}, 'a'))",
                                    f"'-'.join([str({i}), 'x'])", f"repr({w})", f"f'{{{i}=}}'",
                                    f"str({{'a': {i}}})", f"'abc'.replace('b', str({i})).split('c')[0]"]) + "[-12:]")

    def chained(self):
        """Chained comparisons, conditions of several kinds, conditional assignment"""
        self.keep("bool", self.pick([
            f"{self.expression('int', 1)} < {self.expression('int', 1)} <= {self.expression('int', 0)} != 3",
            f"not ({self.expression('float', 1)} > {self.expression('float', 0)} == {self.expression('float', 0)})",
            f"{self.expression('int', 0)} in [1, {self.expression('int', 0)}] and {self.condition(1)} is not None",
            f"bool({self.expression('str', 1)} or {self.expression('int', 0)})",
            f"'a' < {self.expression('str', 1)} < 'z'"]))
