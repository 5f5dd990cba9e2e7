"""Random expressions, one function for each kind of value.

A kind is "int", "float", "bool", "str", ("T", dtype, sizes), ("list", kind), ("dict", kind) or ("tuple", kinds..). Sizes are
the words n, m, part and nm of views, or g1, g2, .. of what data decides: equal words are equal sizes in every call.
"""
FLOAT_TYPES = {"f32": "np.float32", "f64": "np.float64", "i32": "np.int32", "b": "np.bool_"}


class Expressions:
    """What a Grammar says where a value is wanted."""

    def __init__(self, choose, without=()):
        self.choose, self.without = choose, set(without)
        self.scope, self.frozen, self.locals, self.functions, self.outside = {}, frozenset(), set(), [], {}
        self.count, self.in_lambda, self.globals_declared = 0, 0, False

    # ---------------------------------------------------------------- choices

    def pick(self, options):
        """One of the options; the first is the simplest."""
        return options[self.choose(len(options))]

    def chance(self, percent):
        """True so often; False is simpler."""
        return self.choose(100) >= 100 - percent

    def allows(self, construct):
        return construct not in self.without

    def number(self):
        self.count += 1
        return self.count

    def fresh(self, kind):
        """A new name, which tells its kind."""
        if isinstance(kind, tuple) and kind[0] == "T":
            letter = {"f32": "x", "f64": "y", "i32": "k", "b": "mask"}[kind[1]]
        else:
            letter = {"int": "i", "float": "w", "bool": "b", "str": "s", "list": "items", "dict": "d",
                      "tuple": "pair"}[kind if isinstance(kind, str) else kind[0]]
        return f"{letter}{self.number()}"

    def value_kind(self):
        """The kind of a variable, a parameter or a result."""
        tensors = [k for k in self.scope.values() if k[0] == "T"] or [("T", "f64", ("n",))]
        if self.choose(2) == 0:
            return self.pick(tensors)
        return self.pick(["int", "float", "bool", ("T", "f64", ()), "str", ("T", "f64", ("n",)), ("T", "i32", ()),
                          ("T", "f32", ("n",)), ("T", "b", ("n",)), ("T", "i32", ("n",))])

    # ---------------------------------------------------------------- dispatch

    def names_of(self, kind):
        """Variables of a kind, the newest first."""
        return [n for n, k in reversed(self.scope.items()) if k == kind]

    def expression(self, kind, depth):
        """Source text that has a value of this kind."""
        if kind in ("int", "float", "bool", "str"):
            return getattr(self, f"{kind}_")(depth)
        if kind[0] == "T":
            return self.tensor(kind, depth)
        names = self.names_of(kind)
        if names and not self.chance(20):
            return self.pick(names)
        if kind[0] == "list":
            return "[" + ", ".join(self.expression(kind[1], 0) for _ in range(1 + self.choose(2))) + "]"
        if kind[0] == "dict":
            return f"{{'a': {self.expression(kind[1], 0)}, 'b': {self.expression(kind[1], 0)}}}"
        return "(" + ", ".join(self.expression(k, 0) for k in kind[1:]) + ",)"

    def tamed(self, kind, text):
        """`text`, kept in a small range where it may be computed again and again."""
        if kind == "int":
            return text if text.isidentifier() or text.lstrip("-").isdigit() else f"({text}) % 11"
        if not self.loops and not self.functions:
            return text
        if kind == "float":
            return text if text.isidentifier() else f"min(max({text}, -8.0), 8.0)"
        if kind[0] == "T" and kind[1] != "b" and not text.isidentifier():
            return f"ops.clamp({text}, -8, 8)"
        if kind == "str":
            return text if text.isidentifier() else f"({text})[-6:]"
        return text

    def call_text(self, name, kinds, depth):
        """A call of a helper; its first parameter may be how deep a recursion goes."""
        args = [self.pick(["2", "3", "1", f"{self.expression('int', 0)} % 4"]) if k == "depth" else
                self.expression(k, depth - 1) for k in kinds]
        return f"{name}({', '.join(args)})"

    def item_of(self, kind):
        """Items of containers that are of this kind."""
        found = []
        for name, k in self.scope.items():
            if k[0] == "list" and k[1] == kind:
                found += [f"{name}[0]", f"{name}[-1]"]
            elif k[0] == "dict" and k[1] == kind:
                found += [f"{name}['a']", f"{name}.get('b', {self.literal(kind)})"]
            elif k[0] == "tuple" and kind in k[1:]:
                found.append(f"{name}[{k[1:].index(kind)}]")
        return found

    def literal(self, kind):
        """A constant of a kind."""
        if kind[0] == "T":
            return f"Tensor({self.number_for(kind)})"
        return {"int": "1", "float": "0.5", "bool": "True", "str": "'z'"}[kind]

    def calls_of(self, kind, depth):
        """Calls of helpers that give this kind."""
        if self.in_lambda:
            return []
        return [self.call_text(name, kinds, depth) for name, kinds, result in self.functions[:2] if result == kind]

    # ---------------------------------------------------------------- numbers

    def int_(self, depth):
        leaves = self.names_of("int") + self.item_of("int") + [str(self.pick([1, 2, 0, 3, -1, 5]))]
        if depth <= 0 or not self.chance(70):
            return self.pick(leaves)

        def e():
            return self.int_(depth - 1)
        tensors = [n for n, k in self.scope.items() if k[0] == "T" and len(k[2]) >= 1]
        scalars = self.names_of(("T", "i32", ())) + self.names_of(("T", "f64", ()))
        lists = [n for n, k in self.scope.items() if k[0] in ("list", "dict", "tuple") or k == "str"]
        options = [lambda: f"{e()} + {e()}", lambda: f"{e()} - {e()}", lambda: self.pick(leaves),
                   lambda: f"({e()} * {e()}) % 7", lambda: f"{e()} // {self.pick(['2', '3', '-2'])}",
                   lambda: f"({e()}) % {self.pick(['3', '2', '-4'])}", lambda: f"abs({e()})", lambda: f"-({e()})",
                   lambda: f"({e()} if {self.condition(1)} else {e()})", lambda: f"max({e()}, {e()})",
                   lambda: f"min({e()}, {e()})", lambda: f"int({self.float_(1)})", lambda: "G", lambda: "state.n",
                   lambda: f"({e()}) // ({e()})", lambda: f"({e()}) % ({e()})", lambda: f"divmod({e()}, 3)[1]",
                   lambda: f"int({self.bool_(1)})", lambda: f"(({e()}) & 3)", lambda: f"(({e()}) ^ 1)",
                   lambda: "sum(shared)", lambda: "len(shared)", lambda: f"round({self.float_(0)})"]
        if tensors:
            options += [lambda: f"{self.pick(tensors)}.shape[0]", lambda: f"len({self.pick(tensors)})",
                        lambda: f"{self.pick(tensors)}.ndim"]
        if scalars:
            options += [lambda: f"int({self.pick(scalars)})"] * 2
        if lists:
            options.append(lambda: f"len({self.pick(lists)})")
        if not self.in_lambda:
            options += [lambda: self.walrus("int", depth)]
        calls = self.calls_of("int", depth)
        return self.pick(options)() if not calls or not self.chance(20) else self.pick(calls)

    def walrus(self, kind, depth):
        """(name := expression), of a name that is kept afterwards only if it is there already"""
        names = [n for n in self.names_of(kind) if n not in self.frozen]
        if not names or self.globals_declared:
            return self.expression(kind, depth - 1)
        return f"({self.pick(names)} := {self.tamed(kind, self.expression(kind, depth - 1))})"

    def float_(self, depth):
        leaves = self.names_of("float") + self.item_of("float") + [self.pick(["0.5", "2.0", "-1.5", "0.0"])]
        if depth <= 0 or not self.chance(70):
            return self.pick(leaves)

        def e():
            return self.float_(depth - 1)
        scalars = self.names_of(("T", "f64", ())) + self.names_of(("T", "f32", ()))
        options = [lambda: f"{e()} + {e()}", lambda: f"{e()} - {e()}", lambda: f"({e()}) * {self.pick(['2', '0.5', '-1'])}",
                   lambda: f"({e()}) / {self.pick(['2', '4.0', '-2'])}", lambda: f"float({self.int_(depth - 1)})",
                   lambda: f"max({e()}, {e()})", lambda: f"abs({e()})", lambda: "state.weight", lambda: f"-({e()})",
                   lambda: f"({e()} if {self.condition(1)} else {e()})", lambda: f"min({e()}, {e()})",
                   lambda: f"{e()} * {self.int_(0)}", lambda: f"({e()}) // {self.pick(['2.0', '-0.5', '1'])}",
                   lambda: f"({e()}) % {self.pick(['2.0', '-1.5', '1'])}", lambda: f"{self.int_(1)} / 2",
                   lambda: f"({e()}) / ({e()})", lambda: f"({e()}) ** 2"]
        if scalars:
            options += [lambda: f"float({self.pick(scalars)})", lambda: f"{self.pick(scalars)}.item()"]
        calls = self.calls_of("float", depth)
        return self.pick(options)() if not calls or not self.chance(20) else self.pick(calls)

    def bool_(self, depth):
        """A bool of Python's."""
        leaves = self.names_of("bool") + ["True", "False"]
        if depth <= 0 or not self.chance(85):
            return self.pick(leaves)
        compare = self.pick(["<", ">", "==", "!=", "<=", ">="])
        lists = [n for n, k in self.scope.items() if k == ("list", "int")] + ["(1, 2)"]
        options = [lambda: f"{self.int_(depth - 1)} {compare} {self.int_(0)}",
                   lambda: f"{self.float_(depth - 1)} {compare} {self.float_(0)}", lambda: f"not {self.bool_(depth - 1)}",
                   lambda: f"({self.bool_(depth - 1)} and {self.bool_(depth - 1)})",
                   lambda: f"({self.bool_(depth - 1)} or {self.bool_(depth - 1)})",
                   lambda: f"{self.int_(0)} in {self.pick(lists)}",
                   lambda: f"{self.str_(0)} == {self.str_(0)}", lambda: f"bool({self.int_(0)})",
                   lambda: f"0 <= {self.int_(0)} < 3", lambda: f"{self.int_(0)} is None",
                   lambda: f"isinstance({self.int_(0)}, int)", lambda: f"any(v > 1 for v in {self.pick(lists)})",
                   lambda: f"bool({self.condition(depth - 1)})"]
        calls = self.calls_of("bool", depth)
        return self.pick(options)() if not calls or not self.chance(20) else self.pick(calls)

    def condition(self, depth):
        """What `if` takes: a bool, or a Tensor of one element."""
        scalars = [n for n, k in self.scope.items() if k[0] == "T" and k[2] == () and k[1] != "b"]
        tensors = [n for n, k in self.scope.items() if k[0] == "T" and len(k[2]) >= 1]
        compare = self.pick([">", "<", "==", ">=", "!="])
        options = [lambda: self.bool_(depth)]
        if tensors:
            options += [lambda: f"{self.pick(tensors)}.sum() {compare} {self.pick(['1', '0.5', '-2'])}",
                        lambda: f"({self.pick(tensors)} {compare} 1).any()", lambda: f"{self.pick(tensors)}.shape[0] > 1",
                        lambda: f"({self.pick(tensors)} {compare} 0).all()"]
        if scalars:
            options += [lambda: f"{self.pick(scalars)} {compare} {self.pick(['1', '0', '-2', '0.5'])}",
                        lambda: f"{self.pick(scalars)} > {self.pick(scalars)}"] * 2
        if depth > 1:
            options += [lambda: f"not {self.condition(depth - 1)}",
                        lambda: f"({self.condition(depth - 1)} and {self.condition(depth - 1)})",
                        lambda: f"({self.condition(depth - 1)} or {self.condition(depth - 1)})"]
        return self.pick(options)()

    def str_(self, depth):
        leaves = self.names_of("str") + ["'a'", "'q'"]
        if depth <= 0 or not self.chance(70):
            return self.pick(leaves)

        def e():
            return self.str_(depth - 1)
        options = [lambda: f"{e()} + {e()}", lambda: f"f'{{{self.one_line('int')}}}'", lambda: f"({e()}).upper()",
                   lambda: f"str({self.int_(depth - 1)})", lambda: f"f'<{{{self.one_line('float')}:.2f}}>'",
                   lambda: f"({e()} if {self.condition(1)} else {e()})", lambda: f"{e()} * 2", lambda: f"({e()})[1:]",
                   lambda: f"str({self.bool_(1)})", lambda: f"f'{{{self.one_line('str')}!r:>4}}'"]
        return self.pick(options)()

    def one_line(self, kind):
        """A value inside an f-string of '..': a name, as Python before 3.12 takes no quotes there."""
        names = self.names_of(kind)
        return self.pick(names) if names else {"int": "G", "float": "state.weight", "str": "G"}[kind]

    # ---------------------------------------------------------------- Tensors

    def number_for(self, kind):
        """A number that keeps the dtype of `kind`."""
        if kind[1] == "b":
            return self.pick(["True", "False"])
        if kind[1] == "i32":
            return self.pick(["1", "2", "-1", "0"])
        return self.pick(["0.5", "2", "-1.5", "0.0", "1"])

    def operand_for(self, kind, depth):
        """What a Tensor of this kind is combined with, keeping its dtype and sizes."""
        options = [lambda: self.tensor(kind, depth - 1), lambda: self.number_for(kind)]
        if kind[2]:
            options.append(lambda: self.tensor(("T", kind[1], ()), depth - 1))
        if kind[1] in ("f32", "f64"):
            options += [lambda: self.float_(1)]
        if kind[1] != "b":
            options += [lambda: self.int_(1)]
        return self.pick(options)()

    def made(self, kind):
        """A Tensor out of nothing but the Tensors there are."""
        _, dtype, sizes = kind
        rank = {(): "", ("n",): ".sum(1)"}
        for name, other in self.scope.items():
            if other[0] != "T" or other[2] == ("part",):
                continue
            same = other[1] == dtype
            cast = "" if same else f".astype({FLOAT_TYPES[dtype]})"
            if dtype == "b":
                cast = " > 0"
            if other[2] == sizes:
                return f"({name}{cast})"
            if len(other[2]) == 1 and sizes == () and dtype != "b" and other[1] != "b":
                return f"{name}.sum(){cast}" if other[1] in ("f32", "f64") or not same else f"{name}.max()"
            if other[2] == ("n", "m") and sizes in rank and dtype != "b" and other[1] in ("f32", "f64"):
                return f"{name}{rank[sizes] or '.sum()'}{cast}"
        if sizes == ():
            value = {"b": "True", "i32": "2", "f32": "0.5", "f64": "0.5"}[dtype]
            return f"Tensor(np.array({value}, {FLOAT_TYPES[dtype]}))"
        shape = {("n",): "(2,)", ("m",): "(3,)", ("n", "m"): "(2, 3)"}.get(sizes, "(2,)")
        return f"ops.zeros({shape}, {FLOAT_TYPES[dtype]})" if self.choose(2) else f"ops.ones({shape}, {FLOAT_TYPES[dtype]})"

    def tensor(self, kind, depth):
        """A Tensor of this dtype and these sizes."""
        _, dtype, sizes = kind
        leaves = (self.names_of(kind) + self.item_of(kind)) or [self.made(kind)]
        if depth <= 0 or not self.chance(75):
            return self.pick(leaves)

        def e():
            return self.tensor(kind, depth - 1)
        if dtype == "b":
            return self.pick([lambda: self.pick(leaves), *self.masks(sizes, depth, e)])()
        options = [lambda: f"{e()} + {self.operand_for(kind, depth)}", lambda: f"{e()} - {self.operand_for(kind, depth)}",
                   lambda: f"({e()}) * {self.operand_for(kind, 0)}", lambda: f"-({e()})", lambda: f"ops.abs({e()})",
                   lambda: f"ops.maximum({e()}, {e()})", lambda: f"({e()} if {self.condition(1)} else {e()})",
                   lambda: f"ops.where({e()} > {self.number_for(kind)}, {e()}, {e()})",
                   lambda: f"{self.operand_for(kind, 0)} - {e()}", lambda: f"ops.minimum({e()}, {e()})"]
        if dtype == "i32":
            options += [lambda: f"({e()}) // {self.pick(['2', '-3'])}", lambda: f"({e()}) % {self.pick(['3', '-2'])}"]
        else:
            options += [lambda: f"({e()}) / {self.pick(['2', '-4.0'])}", lambda: f"ops.tanh({e()})",
                        lambda: f"ops.exp(-ops.abs({e()}))", lambda: f"({e()}) ** 2", lambda: f"ops.square({e()})",
                        lambda: f"({e()}) / (1 + ops.abs({e()}))"]
        if sizes == ():
            options += self.reductions(dtype, depth)
        elif len(sizes) == 1:
            options += [lambda: f"({e()})[::-1]", lambda: f"ops.cumsum({e()}, 0)"] if dtype != "i32" else []
            if self.names_of(("T", dtype, ("n", "m"))) and dtype != "i32":
                m = self.pick(self.names_of(("T", dtype, ("n", "m"))))
                options += [lambda: f"{m}.sum({'1' if sizes == ('n',) else '0'})"]
        else:
            options += [lambda: f"({e()}) * {self.pick(leaves)}.sum(1, keepdims=True)"] if dtype != "i32" else []
        calls = self.calls_of(kind, depth)
        return self.pick(options)() if not calls or not self.chance(25) else self.pick(calls)

    def masks(self, sizes, depth, e):
        """Ways to make a bool Tensor."""
        numbers = [k for k in self.scope.values() if k[0] == "T" and k[2] == sizes and k[1] != "b"]
        options = [lambda: f"({e()}) & ({e()})", lambda: f"({e()}) | ({e()})", lambda: f"~({e()})"]
        if numbers:
            kind = self.pick(numbers)
            compare = self.pick([">", "<", "==", "!=", ">=", "<="])
            options = [lambda: f"({self.tensor(kind, depth - 1)} {compare} {self.operand_for(kind, 0)})", *options]
        return options

    def reductions(self, dtype, depth):
        """Ways from a larger Tensor to one element."""
        larger = [k for k in self.scope.values() if k[0] == "T" and len(k[2]) == 1 and k[1] == dtype]
        if not larger:
            return []
        kind = self.pick(larger)

        def x():
            return self.tensor(kind, depth - 1)
        options = [lambda: f"({x()}).sum()", lambda: f"({x()})[0]", lambda: f"({x()})[-1]", lambda: f"({x()}).max()",
                   lambda: f"({x()}).min()", lambda: f"({self.pick(self.names_of(kind))})[{self.int_(0)} % 2]"]
        if dtype != "i32":
            options += [lambda: f"({x()}).mean()", lambda: f"({x()} * {x()}).sum()"]
        return options
