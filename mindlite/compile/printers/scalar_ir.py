"""LLVM IR of one scalar instruction: shared by native code and the register machine, so that they cannot disagree.

Each function gives lines that make `dst` (a name such as "%r5"); temporary names are derived from it.
"""
from ...backend.narrow_floats import is_narrow

_PLAIN = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_COMPARE = {op: f"icmp {word}" for op, word in
            zip(("eq", "ne", "lt", "le", "gt", "ge"), ("eq", "ne", "slt", "sle", "sgt", "sge"))}
_FLOAT = {"fadd": "fadd", "fsub": "fsub", "fmul": "fmul", "fdiv": "fdiv"}
_FLOAT_COMPARE = {op: f"fcmp {word}" for op, word in
                  zip(("feq", "fne", "flt", "fle", "fgt", "fge"), ("oeq", "une", "olt", "ole", "ogt", "oge"))}
_INT_CALLS = {"floordiv": "rt_floordiv", "mod": "rt_mod", "shl": "rt_shl", "shr": "rt_shr",
              "max": "llvm.smax.i64", "min": "llvm.smin.i64"}
_FLOAT_CALLS = {"fpow": "ml_pow", "fmod": "rt_fmod", "ffloordiv": "rt_ffloordiv"}
_UNARY_CALLS = {"fexp": "ml_exp", "flog": "ml_log", "fsin": "ml_sin", "fcos": "ml_cos", "ftanh": "ml_tanh",
                "fabs": "llvm.fabs.f64", "fsqrt": "llvm.sqrt.f64"}


def arith(op, dst, a, b):
    """dst = a op b"""
    if op in _PLAIN:
        return [f"{dst} = {_PLAIN[op]} i64 {a}, {b}"]
    if op in _COMPARE:
        return [f"{dst}.c = {_COMPARE[op]} i64 {a}, {b}", f"{dst} = zext i1 {dst}.c to i64"]
    if op in _FLOAT:
        return [f"{dst} = {_FLOAT[op]} double {a}, {b}"]
    if op in _FLOAT_COMPARE:
        return [f"{dst}.c = {_FLOAT_COMPARE[op]} double {a}, {b}", f"{dst} = zext i1 {dst}.c to i64"]
    if op in _INT_CALLS:
        return [f"{dst} = call i64 @{_INT_CALLS[op]}(i64 {a}, i64 {b})"]
    if op in _FLOAT_CALLS:
        return [f"{dst} = call double @{_FLOAT_CALLS[op]}(double {a}, double {b})"]
    word = {"fmax": "ogt", "fmin": "olt"}[op]
    return [f"{dst}.c = fcmp {word} double {b}, {a}", f"{dst} = select i1 {dst}.c, double {b}, double {a}"]


def exact(op, dst, a, b):
    """dst = a op b, and {dst}.o is true where 64 bits do not hold it"""
    return [f"{dst}.x = call {{i64, i1}} @llvm.s{op}.with.overflow.i64(i64 {a}, i64 {b})",
            f"{dst} = extractvalue {{i64, i1}} {dst}.x, 0", f"{dst}.o = extractvalue {{i64, i1}} {dst}.x, 1"]


def unary(op, dst, a):
    """dst = op a"""
    if op in _UNARY_CALLS:
        return [f"{dst} = call double @{_UNARY_CALLS[op]}(double {a})"]
    return {
        "neg": [f"{dst} = sub i64 0, {a}"],
        "not": [f"{dst}.c = icmp eq i64 {a}, 0", f"{dst} = zext i1 {dst}.c to i64"],
        "abs": [f"{dst} = call i64 @llvm.abs.i64(i64 {a}, i1 false)"],
        "itof": [f"{dst} = sitofp i64 {a} to double"],
        "ftoi": [f"{dst} = call i64 @llvm.fptosi.sat.i64.f64(double {a})"],
        "fneg": [f"{dst} = fneg double {a}"],
    }[op]


def load(dtype, dst, ptr):
    """dst = element 0 at ptr, an i64 that is an address"""
    if is_narrow(dtype):
        return [f"{dst} = call double @rt_load_{dtype.short}(i64 {ptr})"]
    lines, source = [f"{dst}.p = inttoptr i64 {ptr} to ptr"], f"ptr {dst}.p, align 1"
    if dtype.kind == "b":
        return lines + [f"{dst}.v = load i8, {source}", f"{dst}.c = icmp ne i8 {dst}.v, 0",
                        f"{dst} = zext i1 {dst}.c to i64"]
    if dtype.name == "float64":
        return lines + [f"{dst} = load double, {source}"]
    if dtype.name == "float16":
        return lines + [f"{dst}.v = load half, {source}", f"{dst}.f = fpext half {dst}.v to float",
                        f"{dst} = fpext float {dst}.f to double"]
    if dtype.name == "float32":
        return lines + [f"{dst}.v = load float, {source}", f"{dst} = fpext float {dst}.v to double"]
    if dtype.bits == 64:
        return lines + [f"{dst} = load i64, {source}"]
    extend = "sext" if dtype.kind == "i" else "zext"
    whole = 8 * dtype.itemsize
    lines.append(f"{dst}.v = load i{whole}, {source}")
    if dtype.bits < whole:
        return lines + [f"{dst}.w = trunc i{whole} {dst}.v to i{dtype.bits}", f"{dst} = {extend} i{dtype.bits} {dst}.w to i64"]
    return lines + [f"{dst} = {extend} i{whole} {dst}.v to i64"]


def store(dtype, temporary, ptr, value):
    """Element 0 at ptr becomes value; temporary: a fresh name for what is needed in between."""
    if is_narrow(dtype):
        return [f"call void @rt_store_{dtype.short}(i64 {ptr}, double {value})"]
    t = temporary
    lines, target = [f"{t}.p = inttoptr i64 {ptr} to ptr"], f"ptr {t}.p, align 1"
    if dtype.kind == "b":
        return lines + [f"{t}.c = icmp ne i64 {value}, 0", f"{t}.v = zext i1 {t}.c to i8", f"store i8 {t}.v, {target}"]
    if dtype.name == "float64":
        return lines + [f"store double {value}, {target}"]
    if dtype.is_float:
        lines.append(f"{t}.f = fptrunc double {value} to float")
        if dtype.name == "float32":
            return lines + [f"store float {t}.f, {target}"]
        return lines + [f"{t}.v = fptrunc float {t}.f to half", f"store half {t}.v, {target}"]
    if dtype.bits == 64:
        return lines + [f"store i64 {value}, {target}"]
    whole = 8 * dtype.itemsize
    if dtype.bits < whole:                                    # the upper bits of the byte are 0, as in ml_dtypes
        return lines + [f"{t}.w = trunc i64 {value} to i{dtype.bits}", f"{t}.v = zext i{dtype.bits} {t}.w to i{whole}",
                        f"store i{whole} {t}.v, {target}"]
    return lines + [f"{t}.v = trunc i64 {value} to i{whole}", f"store i{whole} {t}.v, {target}"]
