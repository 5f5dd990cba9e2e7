"""Low Python (low_python.py) as LLVM IR, by the tree of its source: mutable variables are `alloca`s, which LLVM's mem2reg makes
registers.
"""
import ast
import platform

from llvmlite import ir

from ..common.errors import InternalError
from ..common.syntax import syntax_tree
from .words import DOUBLE, NOTHING, POINTER, WORD, call_at, external, room

HALF = ir.IntType(32)
_ARITHMETIC = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "sdiv", ast.Mod: "srem",
               ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "lshr"}
_COMPARISONS = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
                ast.Is: "==", ast.IsNot: "!="}
# how the names begin of functions whose result has 32 bits, and of those without one
_GIVE_INT = ("PyList_Append", "PyDict_SetItem", "PyObject_IsTrue", "PyErr_ExceptionMatches", "PyUnicode_Compare",
             "ml_pthread", "ml_sched", "cu")
_GIVE_NOTHING = ("Py_IncRef", "Py_DecRef", "PyErr_Clear", "PyEval_RestoreThread", "PyMem_Free", "ml_free", "fiber_switch")
_SHARED = {"atomic_add": "add", "atomic_or": "or"}


def text_of(name, source, constants, offsets, total):
    """(the IR of a module with the functions of a text, the names that they use from outside)."""
    module = ir.Module(name)
    used = write_functions(module, source, constants, offsets, total)
    return str(module), used


def write_functions(module, source, constants, offsets=None, total=0):
    """Write the functions of a text of low Python into a module of llvmlite; the names that they use from outside.

    offsets, total : where each entry of the table begins, and how many words it has; 0: there is none
    """
    return _Unit(module, source, constants, offsets or {}, total).used


class _Unit:
    """The functions of a source, in a module."""

    def __init__(self, module, source, constants, offsets, total):
        self.module, self.constants, self.offsets, self.used = module, constants, offsets, set()
        nodes = [node for node in syntax_tree(source).body if isinstance(node, ast.FunctionDef)]
        if total:
            self.table = ir.GlobalVariable(module, ir.ArrayType(WORD, total), "table")
            self.table.linkage, self.table.align = "internal", 64
            self.table.initializer = ir.Constant(self.table.value_type, None)
            function = self.function("address_of_table", 0)
            builder = ir.IRBuilder(function.append_basic_block())
            builder.ret(builder.ptrtoint(self.table, WORD))
        self.functions = {node.name: self.function(node.name, len(node.args.args)) for node in nodes}
        for node in nodes:
            _Function(self, node).write()

    def function(self, name, count):
        """A new function of so many words; one whose name starts with _ is seen in this module only."""
        made = external(self.module, name, WORD, [WORD] * count)
        made.linkage = "internal" if name.startswith("_") else ""
        return made

    def outside(self, name, count):
        """A function from outside."""
        self.used.add(name)
        result = HALF if name.startswith(_GIVE_INT) else NOTHING if name in _GIVE_NOTHING else WORD
        return external(self.module, name, result, [WORD] * count)


class _Function:
    """Writes one function."""

    def __init__(self, unit, node):
        self.unit, self.node, self.function = unit, node, unit.functions[node.name]
        self.top = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.builder = ir.IRBuilder(self.function.append_basic_block("start"))
        self.variables, self.loops = {}, []

    def write(self):
        """Write it."""
        for parameter, given in zip(self.node.args.args, self.function.args):
            self.assign(parameter.arg, given)
        self.body(self.node.body)
        if not self.builder.block.is_terminated:
            self.builder.ret(WORD(0))
        self.top.branch(self.function.blocks[1])

    def fail(self, node, what):
        raise InternalError(f"low Python, {self.node.name}, line {node.lineno}: {what}: {ast.unparse(node)}")

    def blocks(self, *names):
        return [self.function.append_basic_block(name) for name in names]

    def start(self, block):
        self.builder.position_at_end(block)

    def go(self, block):
        """Go on at a block, where the code before has not left already."""
        if not self.builder.block.is_terminated:
            self.builder.branch(block)

    def assign(self, name, value):
        if name not in self.variables:
            self.variables[name] = self.top.alloca(WORD, name=name)
        self.builder.store(value, self.variables[name])

    # -- statements

    def body(self, statements):
        for s in statements:
            if not self.builder.block.is_terminated:         # what follows a return is not written
                self.statement(s)

    def statement(self, s):
        if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
            pass                                             # a docstring
        elif isinstance(s, ast.Expr):
            self.expression(s.value)
        elif isinstance(s, (ast.Assign, ast.AugAssign)):
            if isinstance(s, ast.Assign):
                targets, value = s.targets, self.expression(s.value)
            else:
                targets, value = [s.target], self.operation(s.op, self.expression(s.target), self.expression(s.value), s)
            for target in targets:
                self.assign(target.id if isinstance(target, ast.Name) else self.fail(s, "only names are assigned"), value)
        elif isinstance(s, ast.Return):
            self.builder.ret(self.expression(s.value) if s.value is not None else WORD(0))
        elif isinstance(s, ast.If):
            known = self.constant(s.test)
            if known is not None:
                self.body(s.body if known else s.orelse)
                return
            yes, no, end = self.blocks("yes", "no", "end")
            self.condition(s.test, yes, no)
            for block, statements in ((yes, s.body), (no, s.orelse)):
                self.start(block)
                self.body(statements)
                self.go(end)
            self.start(end)
        elif isinstance(s, ast.While):
            head, iteration, end = self.blocks("head", "iteration", "end")
            self.builder.branch(head)
            self.start(head)
            self.condition(s.test, iteration, end)
            self.start(iteration)
            self.loops.append((head, end))
            self.body(s.body)
            self.loops.pop()
            self.go(head)
            self.start(end)
        elif isinstance(s, (ast.Break, ast.Continue)):
            self.builder.branch(self.loops[-1][isinstance(s, ast.Break)])
        elif not isinstance(s, ast.Pass):
            self.fail(s, "no such statement")

    def constant(self, test):
        """What a single `at.NAME` is; None for another condition."""
        named = isinstance(test, ast.Attribute) and isinstance(test.value, ast.Name) and test.value.id == "at"
        return self.unit.constants[test.attr] if named else None

    def condition(self, test, yes, no):
        """Go to the block `yes` or `no`."""
        if isinstance(test, ast.BoolOp):
            for part in test.values[:-1]:
                following, = self.blocks("next")
                if isinstance(test.op, ast.And):
                    self.condition(part, following, no)
                else:
                    self.condition(part, yes, following)
                self.start(following)
            self.condition(test.values[-1], yes, no)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.condition(test.operand, no, yes)
        else:
            compared, a, b = "!=", test, None
            if isinstance(test, ast.Compare):
                if len(test.ops) > 1:
                    self.fail(test, "one comparison at a time")
                compared, a, b = _COMPARISONS[type(test.ops[0])], test.left, test.comparators[0]
            left = self.expression(a)
            right = WORD(0) if b is None else self.expression(b)
            self.builder.cbranch(self.builder.icmp_signed(compared, left, right), yes, no)

    # -- expressions

    def operation(self, op, a, b, node):
        if type(op) not in _ARITHMETIC:
            self.fail(node, "no such operator")
        return getattr(self.builder, _ARITHMETIC[type(op)])(a, b)

    def expression(self, e):
        """The value of an expression."""
        if isinstance(e, ast.Constant) and isinstance(e.value, int):
            return WORD(int(e.value))
        if isinstance(e, ast.Name):
            if e.id not in self.variables:
                self.fail(e, "not assigned")
            return self.builder.load(self.variables[e.id], typ=WORD)
        if isinstance(e, ast.Attribute) and isinstance(e.value, ast.Name):
            return self.named(e.value.id, e.attr)
        if isinstance(e, ast.BinOp):
            return self.operation(e.op, self.expression(e.left), self.expression(e.right), e)
        if isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.USub):
            return self.builder.sub(WORD(0), self.expression(e.operand))
        if isinstance(e, (ast.Compare, ast.BoolOp)) or isinstance(e, ast.UnaryOp) and isinstance(e.op, ast.Not):
            return self.choice(e, ast.Constant(1), ast.Constant(0))
        if isinstance(e, ast.IfExp):
            return self.choice(e.test, e.body, e.orelse)
        if isinstance(e, ast.Call):
            return self.call(e)
        return self.fail(e, "no such expression")

    def named(self, kind, name):
        """at.NAME, this.NAME, address.NAME."""
        b = self.builder
        if kind == "at":
            return WORD(self.unit.constants[name])
        if kind == "address" and name in self.unit.functions:
            return b.ptrtoint(self.unit.functions[name], WORD)
        offsets = b.gep(self.unit.table, [WORD(self.unit.offsets[name])], source_etype=WORD)
        return b.load(offsets, typ=WORD) if kind == "this" else b.ptrtoint(offsets, WORD)

    def choice(self, test, first, second):
        yes, no, end = self.blocks("yes", "no", "end")
        self.condition(test, yes, no)
        made = []
        for block, value in ((yes, first), (no, second)):
            self.start(block)
            made.append((self.expression(value), self.builder.block))
            self.go(end)
        self.start(end)
        phi = self.builder.phi(WORD)
        for value, block in made:
            phi.add_incoming(value, block)
        return phi

    def pointer(self, address, offset=None):
        return self.builder.inttoptr(address if offset is None else self.builder.add(address, offset), POINTER)

    def call(self, e):
        b = self.builder
        if isinstance(e.func, ast.Attribute):
            made = b.call(self.unit.outside(e.func.attr, len(e.args)), [self.expression(a) for a in e.args])
            return WORD(0) if made.type == NOTHING else b.sext(made, WORD) if made.type == HALF else made
        name = e.func.id
        if name == "stack":
            count = e.args[0]
            known = isinstance(count, ast.Constant)
            builder = self.top if known else b
            return builder.ptrtoint(room(builder, count.value if known else self.expression(count)), WORD)
        args = [self.expression(a) for a in e.args]
        if name in ("load", "load32"):
            made = b.load(self.pointer(*args), typ=WORD if name == "load" else HALF)
            return made if name == "load" else b.sext(made, WORD)
        if name in ("store", "store32"):
            b.store(args[2] if name == "store" else b.trunc(args[2], HALF), self.pointer(*args[:2]))
            return WORD(0)
        if name in _SHARED:
            return b.atomic_rmw(_SHARED[name], self.pointer(args[0]), args[1], "seq_cst")
        if name == "atomic_load":
            return b.load_atomic(self.pointer(args[0]), "seq_cst", 8, typ=WORD)
        if name == "atomic_store":
            b.store_atomic(args[1], b.inttoptr(args[0], WORD.as_pointer()), "seq_cst", 8)
            return WORD(0)
        if name == "exchange":
            return b.zext(b.extract_value(b.cmpxchg(self.pointer(args[0]), args[1], args[2], "seq_cst"), 1), WORD)
        if name == "pause":
            if platform.machine().lower() in ("x86_64", "amd64"):
                b.call(external(self.unit.module, "llvm.x86.sse2.pause", NOTHING, []), [])
            else:
                b.fence("seq_cst")
            return WORD(0)
        if name == "to_float":
            return b.bitcast(b.sitofp(args[0], DOUBLE), WORD)
        if name == "to_single":
            return b.zext(b.bitcast(b.fptrunc(b.bitcast(args[0], DOUBLE), ir.FloatType()), HALF), WORD)
        if name == "call":
            return call_at(b, *args)
        function = self.unit.functions.get(name)
        if function is None or len(function.args) != len(args):
            self.fail(e, "no such function")
        return b.call(function, args)
