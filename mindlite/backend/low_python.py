"""Machine code of functions of integers, written in Python: what stands below Python calls reads as Python too.

    def rank_of(array):                                  define internal i64 @rank_of(i64 %array) {
        if load(array, at.TYPE) != this.NDARRAY:   ->      ...
            return -1
        return load32(array, at.NDIM)                    }

Every value is an integer of 64 bits; an address is one too. There are assignments, `if`, `while`, `return`, `break`,
`continue`, comparisons, `and`, `or`, `not`, arithmetic (`//` and `%` of what is not negative), and these names:

    load(p, n), store(p, n, v)   the 64 bits at p + n bytes, read or written; load32, store32: the 32 bits, signed
    stack(n)                     the address of n words that live as long as the call; not inside a loop if n is no constant
    call(f, ..)                  a call of the function at address f
    to_float(n), to_single(d)    the bits of an integer as a double; the bits of a double as a float
    at.NAME                      a number known when the code is made (an offset)
    this.NAME                    a word of the module's table, which is filled when the code is loaded; address.NAME: where
                                 the words of a larger entry of the table begin
    api.NAME(..)                 a function of CPython

`LowModule` translates, compiles and loads a text. Translation is by the tree of the source (`ast`); mutable variables are
LLVM's `alloca`s, which its mem2reg makes registers.
"""
import ast
import ctypes
import os

import numpy as np

from ..common.errors import InternalError
from ..common.syntax import syntax_tree
from .machine_code import compile_made
_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem",
               ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "lshr"}
_COMPARISONS = {ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge",
                ast.Is: "eq", ast.IsNot: "ne"}
# C functions whose result has 32 bits, and those without one
_GIVE_INT = ("PyList_Append", "PyDict_SetItem", "PyObject_IsTrue", "PyErr_ExceptionMatches",
             "PyUnicode_Compare")
_GIVE_NOTHING = ("Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyEval_RestoreThread", "PyMem_Free", "ml_free")


class LowModule:
    """Functions of low Python as machine code.

    source    : their text
    constants : {name: int} of `at`
    words     : {name: how many words} of the table
    table     : the table, an array; `place[name]` is where an entry begins
    """
    keep: list                               # objects that the code reads, for its maker

    def __init__(self, source, constants, words, name):
        self.place, total = {}, 0
        for word, count in words.items():
            self.place[word] = total
            total += count

        def make():
            text = _Unit(source, constants, self.place, total).text
            used = {line.split("@")[1].split("(")[0] for line in text.splitlines() if line.startswith("declare")}
            return name, text, {function for function in used if not function.startswith("llvm.")}
        _, self.code = compile_made((name, source, constants, words), make, _of_python, passes=2)
        address = ctypes.CFUNCTYPE(ctypes.c_int64)(self.code.address("address_of_table"))()
        self.table = np.ctypeslib.as_array((ctypes.c_int64 * total).from_address(address))
        self.start = address

    def set(self, name, *values):
        """Fill an entry of the table."""
        place = self.place[name]
        self.table[place:place + len(values)] = values

    def address(self, name):
        """The address of a function."""
        return self.code.address(name)

    def word(self, name):
        """The address of an entry of the table."""
        return self.start + 8 * self.place[name]


def source_of(file, name):
    """The text of the module `name` of low Python beside `file`, which Python itself does not load."""
    with open(os.path.join(os.path.dirname(file), f"{name}.py"), encoding="utf-8") as opened:
        return opened.read()


def text_of(source, constants):
    """The IR of functions of low Python that have no table, for a module of several texts."""
    return _Unit(source, constants, {}, 0).text


def _of_python(function):
    """The address of a function of CPython."""
    return ctypes.cast(getattr(ctypes.pythonapi, function), ctypes.c_void_p).value


class _Unit:
    """The LLVM IR of a module's source."""

    def __init__(self, source, constants, place, total):
        self.constants, self.place = constants, place
        self.used: dict = {}
        functions = [node for node in syntax_tree(source).body if isinstance(node, ast.FunctionDef)]
        self.names = {f.name: len(f.args.args) for f in functions}
        made = [_Function(self, f).text() for f in functions]
        table = [f"@table = internal global [{total} x i64] zeroinitializer, align 64",
                 "define i64 @address_of_table() {\n  ret i64 ptrtoint (ptr @table to i64)\n}"] if total else []
        self.text = "\n".join([
            *table, *[f"declare {result} @{name}({', '.join(['i64'] * count)})" for name, (result, count) in self.used.items()],
            *made])


class _Function:
    """Writes one function."""

    def __init__(self, unit, node):
        self.unit, self.node, self.lines, self.top = unit, node, [], []
        self.count, self.variables, self.loops = 0, {}, []

    def text(self):
        """The function's IR; functions whose name starts with _ are seen in this module alone."""
        names = [a.arg for a in self.node.args.args]
        for name in names:
            self.emit(f"store i64 %{name}.in, ptr {self.variable(name)}")
        self.body(self.node.body)
        self.emit("ret i64 0")
        kind = "internal " if self.node.name.startswith("_") else ""
        parameters = ", ".join(f"i64 %{name}.in" for name in names)
        return "\n".join([f"define {kind}i64 @{self.node.name}({parameters}) {{", "entry:", *self.top, *self.lines, "}"])

    # -- writing

    def fail(self, node, what):
        raise InternalError(f"low Python, {self.node.name}, line {node.lineno}: {what}: {ast.unparse(node)}")

    def assigned(self, statement, target):
        """The name that an assignment is made to."""
        if not isinstance(target, ast.Name):
            self.fail(statement, "only names are assigned")
        return target.id

    def emit(self, line):
        self.lines.append("  " + line)

    def fresh(self, stem="%v"):
        self.count += 1
        return f"{stem}{self.count}"

    def value(self, line):
        """A new register that holds what `line` computes."""
        name = self.fresh()
        self.emit(f"{name} = {line}")
        return name

    def label(self, name):
        self.lines.append(f"{name}:")

    def variable(self, name):
        if name not in self.variables:
            self.variables[name] = f"%{name}.at"
            self.top.append(f"  %{name}.at = alloca i64")
        return self.variables[name]

    # -- statements

    def body(self, statements):
        for s in statements:
            self.statement(s)
            if isinstance(s, (ast.Return, ast.Break, ast.Continue)):
                self.label(self.fresh("dead"))               # LLVM drops what follows

    def statement(self, s):
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
            pass                                             # a docstring
        elif isinstance(s, ast.Expr):
            self.expression(s.value)
        elif isinstance(s, ast.Assign):
            value = self.expression(s.value)
            for target in s.targets:
                self.emit(f"store i64 {value}, ptr {self.variable(self.assigned(s, target))}")
        elif isinstance(s, ast.AugAssign):
            value = self.operation(s.op, self.expression(s.target), self.expression(s.value), s)
            self.emit(f"store i64 {value}, ptr {self.variable(self.assigned(s, s.target))}")
        elif isinstance(s, ast.Return):
            self.emit(f"ret i64 {self.expression(s.value) if s.value is not None else 0}")
        elif isinstance(s, ast.If):
            yes, no, end = self.fresh("yes"), self.fresh("no"), self.fresh("end")
            self.condition(s.test, yes, no)
            for label, statements in ((yes, s.body), (no, s.orelse)):
                self.label(label)
                self.body(statements)
                self.emit(f"br label %{end}")
            self.label(end)
        elif isinstance(s, ast.While):
            head, iteration, end = self.fresh("head"), self.fresh("iteration"), self.fresh("end")
            self.emit(f"br label %{head}")
            self.label(head)
            self.condition(s.test, iteration, end)
            self.label(iteration)
            self.loops.append((head, end))
            self.body(s.body)
            self.loops.pop()
            self.emit(f"br label %{head}")
            self.label(end)
        elif isinstance(s, (ast.Break, ast.Continue)):
            self.emit(f"br label %{self.loops[-1][isinstance(s, ast.Break)]}")
        elif not isinstance(s, ast.Pass):
            self.fail(s, "no such statement")

    def condition(self, test, yes, no):
        """Go to the label `yes` or `no`."""
        if isinstance(test, ast.BoolOp):
            for part in test.values[:-1]:
                next_part = self.fresh("next")
                if isinstance(test.op, ast.And):
                    self.condition(part, next_part, no)
                else:
                    self.condition(part, yes, next_part)
                self.label(next_part)
            self.condition(test.values[-1], yes, no)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.condition(test.operand, no, yes)
        else:
            if isinstance(test, ast.Compare):
                if len(test.ops) > 1:
                    self.fail(test, "one comparison at a time")
                a, b = self.expression(test.left), self.expression(test.comparators[0])
                holds = self.value(f"icmp {_COMPARISONS[type(test.ops[0])]} i64 {a}, {b}")
            else:
                holds = self.value(f"icmp ne i64 {self.expression(test)}, 0")
            self.emit(f"br i1 {holds}, label %{yes}, label %{no}")

    # -- expressions

    def operation(self, op, a, b, node):
        if type(op) not in _ARITHMETIC:
            self.fail(node, "no such operator")
        return self.value(f"{_ARITHMETIC[type(op)]} i64 {a}, {b}")

    def expression(self, e):
        """The register or number of an expression's value."""
        if isinstance(e, ast.Constant) and isinstance(e.value, int):
            return int(e.value)
        if isinstance(e, ast.Name):
            if e.id not in self.variables:
                self.fail(e, "not assigned")
            return self.value(f"load i64, ptr {self.variables[e.id]}")
        if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name):
            if e.value.id == "at":
                return self.unit.constants[e.attr]
            word = f"getelementptr (i64, ptr @table, i64 {self.unit.place[e.attr]})"
            return self.value(f"load i64, ptr {word}") if e.value.id == "this" else self.value(
                f"ptrtoint ptr {word} to i64")
        if isinstance(e, ast.BinOp):
            return self.operation(e.op, self.expression(e.left), self.expression(e.right), e)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return self.value(f"sub i64 0, {self.expression(e.operand)}")
        if isinstance(e, (ast.Compare, ast.BoolOp)) or isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return self.choice(e, "1", "0")
        if isinstance(e, ast.IfExp):
            return self.choice(e.test, e.body, e.orelse)
        if isinstance(e, ast.Call):
            return self.call(e)
        return self.fail(e, "no such expression")

    def choice(self, test, first, second):
        made = self.variable(self.fresh("choice"))
        yes, no, end = self.fresh("yes"), self.fresh("no"), self.fresh("end")
        self.condition(test, yes, no)
        for label, value in ((yes, first), (no, second)):
            self.label(label)
            self.emit(f"store i64 {value if isinstance(value, str) else self.expression(value)}, ptr {made}")
            self.emit(f"br label %{end}")
        self.label(end)
        return self.value(f"load i64, ptr {made}")

    def pointer(self, address, offset):
        whole = self.value(f"add i64 {address}, {offset}") if offset else address
        return self.value(f"inttoptr i64 {whole} to ptr")

    def call(self, e):
        if isinstance(e.func, ast.Attribute):
            name, listed = e.func.attr, ", ".join(f"i64 {self.expression(a)}" for a in e.args)
            result = "i32" if name in _GIVE_INT else "void" if name in _GIVE_NOTHING else "i64"
            self.unit.used[name] = result, len(e.args)
            if result == "void":
                self.emit(f"call void @{name}({listed})")
                return 0
            made = self.value(f"call {result} @{name}({listed})")
            return self.value(f"sext i32 {made} to i64") if result == "i32" else made
        name, given = e.func.id, e.args
        if name == "stack":
            made = self.fresh("%s")
            count = given[0]
            if not isinstance(count, ast.Constant):
                where = self.value(f"alloca i64, i64 {self.expression(count)}, align 16")
                return self.value(f"ptrtoint ptr {where} to i64")
            self.top += [f"  {made}.at = alloca [{count.value!r} x i64], align 16",
                         f"  {made} = ptrtoint ptr {made}.at to i64"]
            return made
        args = [self.expression(a) for a in given]
        if name in ("load", "load32"):
            where = self.pointer(args[0], args[1] if len(args) > 1 else 0)
            if name == "load":
                return self.value(f"load i64, ptr {where}")
            made = self.value(f"load i32, ptr {where}")
            return self.value(f"sext i32 {made} to i64")
        if name in ("store", "store32"):
            where, value = self.pointer(args[0], args[1]), args[2]
            if name == "store32":
                value = self.value(f"trunc i64 {value} to i32")
            self.emit(f"store {'i64' if name == 'store' else 'i32'} {value}, ptr {where}")
            return 0
        if name == "to_float":
            return self.value(f"bitcast double {self.value(f'sitofp i64 {args[0]} to double')} to i64")
        if name == "to_single":
            wide = self.value(f"bitcast i64 {args[0]} to double")
            bits = self.value(f"bitcast float {self.value(f'fptrunc double {wide} to float')} to i32")
            return self.value(f"zext i32 {bits} to i64")
        if name == "call":
            target = self.value(f"inttoptr i64 {args[0]} to ptr")
            return self.value(f"call i64 {target}({', '.join(f'i64 {a}' for a in args[1:])})")
        if self.unit.names.get(name) != len(args):
            self.fail(e, "no such function")
        return self.value(f"call i64 @{name}({', '.join(f'i64 {a}' for a in args)})")
