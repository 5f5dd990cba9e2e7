"""The Python text of a loop nest, compiled by Numba (Lam, Pitrou, Seibert 2015) to the kernels' C signature.

    # numba 0.68.0: float32*[0], float32*[1], size
    def kernel(v0, v1, v2, begin, end):                  ->    int64_t kernel(int64_t *args, int64_t begin, int64_t end)
        for v3 in range(begin, end): ..

Numba reads the text, finds the types and the control flow, and writes LLVM IR. Two types of our own keep NumPy's meaning:
a `Pointer` is an argument, `p[i]` loads a `Register`, and operators and functions of Registers are emitted by `arithmetic`,
as they are in `lower_llvm`: both lowerings have the same numerics (and `int8 + int8` stays int8, which Numba's own integers
do not). LLVM's passes run once, ours; the object code goes through the same cache. The first line of a text is its
signature: what each argument is and, for a pointer, in whose memory it lies.
"""
import operator
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types
from numba.core.compiler import CompilerBase, Flags
from numba.core.compiler_lock import global_compiler_lock
from numba.core.compiler_machinery import PassManager
from numba.core.errors import NumbaError
from numba.core.imputils import lower_cast
from numba.core.registry import cpu_target
from numba.core.typeconv import Conversion
from numba.core.typed_passes import AnnotateTypes, NativeLowering, NopythonTypeInference, PreLowerStripPhis
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.core.untyped_passes import FixupArgs, IRProcessing, ReconstructSSA, TranslateByteCode
from numba.extending import lower_builtin, models, register_model

from ...common import dtype as dt
from ...common.errors import InternalError
from ...mindir.scalar import COMPARISONS, UNARY_FUNCTIONS, BINARY_FUNCTIONS
from ..target import current
from .arithmetic import I64, MEMORY, REGISTER, Arithmetic, alias_scopes


# ---------------------------------------------------------------- types

class Register(types.Type):
    """A number of a dtype of ours. Fields: dtype."""
    mutable = True                                        # else Numba takes `x += y` for `x = x + y`

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(f"register({dtype.name})")

    def can_convert_from(self, typingctx, other):
        """Plain ints and bools of the text (loop variables, literals) become Registers where the two meet."""
        if isinstance(other, (types.Integer, types.Boolean)) and dtype_of(other) is self.dtype:
            return Conversion.safe
        return None

    def unify(self, typingctx, other):
        """The type of a variable that is a Register on one way and a plain number on another."""
        return self if self.can_convert_from(typingctx, other) else None


class Pointer(types.Type):
    """Memory of elements. Fields: dtype, owner (whose memory), count (of arguments that have memory)."""

    def __init__(self, dtype, owner, count):
        self.dtype, self.owner, self.count = dtype, owner, count
        super().__init__(f"pointer({dtype.name}, {owner} of {count})")


class Lanes(types.Type):
    """A local array with a number for each lane of a tile. Fields: dtype."""

    def __init__(self, dtype):
        self.dtype = dtype
        super().__init__(f"lanes({dtype.name})")


@register_model(Register)
class _RegisterModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, REGISTER[type_.dtype.name])


@register_model(Pointer)
class _PointerModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, MEMORY[type_.dtype.name].as_pointer())


@register_model(Lanes)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, type_):
        super().__init__(manager, type_, REGISTER[type_.dtype.name].as_pointer())


def dtype_of(type_: Any):
    """Our dtype of a Numba type, None for what is no number."""
    if isinstance(type_, (Register, Pointer, Lanes)):
        return type_.dtype
    if isinstance(type_, types.Boolean) or isinstance(types.unliteral(type_), types.Boolean):
        return dt.bool_
    if isinstance(type_, types.Float):
        return dt.float64
    signed = getattr(type_, "signed", None)                  # an attribute of integers only
    return None if signed is None else dt.int64 if signed or type_.bitwidth < 64 else dt.uint64


def _convert(builder, value, type_: Any, dtype):
    """An LLVM value of a Numba type as a register of `dtype`."""
    have = dtype_of(type_)
    if getattr(type_, "bitwidth", 64) < 64:                  # a Numba integer; a Register has none
        value = (builder.sext if type_.signed else builder.zext)(value, I64)
    return Arithmetic(builder).convert(value, have, dtype)


@lower_cast(types.Integer, Register)
@lower_cast(types.Boolean, Register)
def _cast_to_register(context, builder, have, want, value):
    return _convert(builder, value, have, want.dtype)


# ---------------------------------------------------------------- operators and functions

def _declare(function, result, emit, formal=None):
    """Teach Numba `function`: result(*types) -> type or None if it is not meant; emit(builder, types, values) -> value."""
    class Template(AbstractTemplate):
        key = function

        def generic(self, args, kws):
            """The signature for these types."""
            made = None if kws else result(*args)
            return None if made is None else signature(made, *args)
    infer_global(function, types.Function(Template))
    for types_ in formal or [(types.VarArg(types.Any),)]:
        lower_builtin(function, *types_)(
            lambda context, builder, sig, args: emit(builder, sig.args, args))


def _meet(*types_):
    """The one dtype of operands of which one is a Register; None if they are anything else."""
    dtypes = {dtype_of(t) for t in types_}
    return dtypes.pop() if len(dtypes) == 1 and any(isinstance(t, Register) for t in types_) else None


def _operator(name, function):
    compares = name in COMPARISONS

    def result(*types_):
        dtype = _meet(*types_) if len(types_) == 2 else None
        return dtype and Register(dt.bool_ if compares else dtype)

    def emit(builder, types_, values):
        dtype = _meet(*types_)
        a, b = (_convert(builder, v, t, dtype) for v, t in zip(values, types_))
        return Arithmetic(builder).binary(name, a, b, dtype)
    plain = (types.Integer, types.Boolean)
    _declare(function, result, emit, [(Register, Register), *((Register, p) for p in plain), *((p, Register) for p in plain)])


for _name, _function in {
        "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv, "mod": operator.mod,
        "floordiv": operator.floordiv, "and": operator.and_, "or": operator.or_, "xor": operator.xor,
        "shl": operator.lshift, "shr": operator.rshift, **{n: getattr(operator, n) for n in COMPARISONS}}.items():
    _operator(_name, _function)


def _accumulation(kind, function):
    def result(*types_):
        return _meet(*types_) and Register(_meet(*types_))

    def emit(builder, types_, values):
        dtype = _meet(*types_)
        acc, value = (_convert(builder, v, t, dtype) for v, t in zip(values, types_))
        return Arithmetic(builder).accumulate(kind, acc, value, dtype)
    _declare(function, result, emit, [(Register, t) for t in (Register, types.Integer, types.Boolean)])


for _name, _function in {"sum": operator.iadd, "prod": operator.imul, "any": operator.ior, "all": operator.iand}.items():
    _accumulation(_name, _function)

_declare(operator.neg, lambda x: x if isinstance(x, Register) else None,
         lambda builder, types_, values: builder.fneg(values[0]), [(Register,)])
_declare(bool, lambda x: types.boolean if isinstance(x, Register) else None,
         lambda builder, types_, values: _convert(builder, values[0], types_[0], dt.bool_), [(Register,)])


def _is_index(type_):
    return dtype_of(type_) is dt.int64 and not isinstance(type_, (Pointer, Lanes))


def _address(builder, types_, values):
    """(address, alias scope or None) of p[i]."""
    pointer = builder.gep(values[0], [_convert(builder, values[1], types_[1], dt.int64)])
    if isinstance(types_[0], Lanes):
        return pointer, None
    return pointer, alias_scopes(builder.module, types_[0].count)[types_[0].owner]


def _load(builder, types_, values):
    pointer, scope = _address(builder, types_, values)
    if scope is None:
        return builder.load(pointer, typ=REGISTER[types_[0].dtype.name])
    return Arithmetic(builder).load(pointer, types_[0].dtype, scope)


def _store(builder, types_, values):
    pointer, scope = _address(builder, types_, values)
    value = _convert(builder, values[2], types_[2], types_[0].dtype)
    if scope is None:
        builder.store(value, pointer)
    else:
        Arithmetic(builder).store(value, pointer, types_[0].dtype, scope)


def _emit_setitem(builder, types_, values):
    _store(builder, types_, values)
    return ir.Constant(ir.IntType(8).as_pointer(), None)


_declare(operator.getitem,
         lambda p, i: Register(p.dtype) if isinstance(p, (Pointer, Lanes)) and _is_index(i) else None,
         _load, [(Pointer, types.Any), (Lanes, types.Any)])
_declare(operator.setitem,
         lambda p, i, x: types.none if isinstance(p, (Pointer, Lanes)) and _is_index(i) and dtype_of(x) else None,
         _emit_setitem, [(Pointer, types.Any, types.Any), (Lanes, types.Any, types.Any)])


def _named(name):
    """A fresh function for Numba to know by its name in the text."""
    def function(*args):
        raise InternalError(f"{name} is for compiled kernels")
    function.__name__ = name
    return function


_NAMESPACE = {"inf": float("inf"), "nan": float("nan"), "range": range}


def _conversion(dtype):
    function = _NAMESPACE[dtype.name] = _named(dtype.name)
    _declare(function, lambda *x: Register(dtype) if len(x) == 1 and dtype_of(x[0]) else None,
             lambda builder, types_, values: _convert(builder, values[0], types_[0], dtype))


def _call(name, arity):
    function = _NAMESPACE[name] = _named(name)
    predicate = name.startswith("is")

    def result(*types_):
        dtypes = {dtype_of(t) for t in types_}
        if len(types_) != arity or len(dtypes) != 1 or None in dtypes:
            return None
        dtype = dt.bool_ if predicate else dtypes.pop()
        return types.int64 if all(isinstance(t, types.Integer) for t in types_) else Register(dtype)

    def emit(builder, types_, values):
        dtype = dtype_of(types_[0])
        return Arithmetic(builder).call(name, [_convert(builder, v, t, dtype) for v, t in zip(values, types_)], dtype)
    _declare(function, result, emit)


def _comparison(name, kind):
    function = _NAMESPACE[name] = _named(name)

    def emit(builder, types_, values):
        dtype = dtype_of(types_[0])
        value, held = (_convert(builder, v, t, dtype) for v, t in zip(values, types_))
        return Arithmetic(builder).wins(kind, value, held, dtype)
    _declare(function, lambda a, b: Register(dt.bool_) if dtype_of(a) and dtype_of(a) is dtype_of(b) else None, emit)


def _emit_where(builder, types_, values):
    dtype = dtype_of(types_[1])
    a, b = (_convert(builder, v, t, dtype) for v, t in zip(values[1:], types_[1:]))
    return builder.select(_convert(builder, values[0], types_[0], dt.bool_), a, b)


def _emit_full(builder, types_, values):
    arithmetic, dtype = Arithmetic(builder), dtype_of(types_[1])
    lanes = arithmetic.slot(REGISTER[dtype.name], current().tile)
    value, count = _convert(builder, values[1], types_[1], dtype), _convert(builder, values[0], types_[0], dt.int64)
    before = builder.block
    head, body, after = (builder.append_basic_block(n) for n in ("head", "fill", "filled"))
    builder.branch(head)
    builder.position_at_end(head)
    i = builder.phi(I64)
    i.add_incoming(I64(0), before)
    builder.cbranch(builder.icmp_signed("<", i, count), body, after)
    builder.position_at_end(body)
    builder.store(value, builder.gep(lanes, [i]))
    i.add_incoming(builder.add(i, I64(1), flags=("nsw",)), body)
    builder.branch(head)
    builder.position_at_end(after)
    return lanes


for _dtype in dt.ALL:
    if _dtype.kind != "c":
        _conversion(_dtype)
for _name in UNARY_FUNCTIONS:
    _call(_name, 1)
for _name in BINARY_FUNCTIONS:
    _call(_name, 2)
_comparison("exceeds", "argmax")
_comparison("undercuts", "argmin")
_NAMESPACE |= {"where": _named("where"), "full": _named("full")}
_declare(_NAMESPACE["where"],
         lambda c, a, b: Register(dtype_of(a)) if dtype_of(c) is dt.bool_ and dtype_of(a) is dtype_of(b) else None,
         _emit_where)
_declare(_NAMESPACE["full"], lambda n, x: Lanes(dtype_of(x)) if _is_index(n) and dtype_of(x) else None, _emit_full)


# ---------------------------------------------------------------- compilation

class _Compiler(CompilerBase):
    """Only the passes that such a text needs; no LLVM passes yet (`no_compile`)."""

    def define_pipelines(self):
        """One pipeline."""
        passes = PassManager("kernel")
        for step in (TranslateByteCode, FixupArgs, IRProcessing, ReconstructSSA, NopythonTypeInference,
                     PreLowerStripPhis, AnnotateTypes, NativeLowering):
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


def _flags():
    flags: Any = Flags()
    flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
    flags.nrt = False
    flags.error_model = "numpy"
    return flags


def _argument(word, count):
    """The Numba type of a word of the signature."""
    if word.endswith("]"):
        name, owner = word[:-1].split("*[")
        return Pointer(dt.dtype(name), int(owner), count)
    return types.int64 if word == "size" else Register(dt.dtype(word))


@global_compiler_lock
def llvm_ir(text):
    """The LLVM module text, not yet optimised, of a text whose first line is its signature; its function is `kernel`."""
    _, words = text.split("\n", 1)[0].split(": ")
    words = words.split(", ")
    arguments = [_argument(w, len(words)) for w in words]
    namespace = dict(_NAMESPACE)
    exec(compile(text, "<kernel>", "exec"), namespace)
    types_ = (*arguments, types.int64, types.int64)
    compiler = _Compiler(cpu_target.typing_context, cpu_target.target_context, None, types_, types.none, _flags(), {})
    try:
        lowered = compiler.compile_extra(namespace["kernel"])
    except NumbaError as error:
        raise InternalError(f"Numba does not compile this kernel: {error}\n{text}") from error
    library, context = compiler.state.library, compiler.state.targetctx
    module = library.create_ir_module("entry")
    _entry(module, context, lowered.fndesc, arguments, types_)
    library.add_ir_module(module)
    linked = llvm.parse_assembly(library.get_llvm_str())
    linked.name = "kernel"
    for made in (linked.get_function(lowered.fndesc.mangled_name), *linked.global_variables):
        made.linkage = "internal"                         # inlined and gone: equal texts have equal object code
    return str(linked)


def _entry(module, context, fndesc, arguments, types_):
    """The C function `kernel`: unpack the arguments and call what Numba made."""
    function = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer(), I64, I64]), "kernel")
    b = ir.IRBuilder(function.append_basic_block("entry"))
    args, begin, end = function.args
    values = []
    for number, type_ in enumerate(arguments):
        is_pointer = isinstance(type_, Pointer)
        raw = b.load(b.gep(args, [I64(type_.owner if is_pointer else number)]), typ=I64)
        values.append(b.inttoptr(raw, MEMORY[type_.dtype.name].as_pointer()) if is_pointer else
                      Arithmetic(b).scalar_argument(raw, dtype_of(type_)))
    callee = context.declare_function(module, fndesc)
    status, _ = context.call_conv.call_function(b, callee, types.none, types_, [*values, begin, end])
    b.ret(b.sext(status.code, I64))
