"""What is done with the numbers of a convolution's result while they are near: the epilogue.

    out[n, o, pixel] = max(out[n, o, pixel] + bias[o] + residual[n, o, pixel], 0)        each of the three or not

A kernel of its own would read and write the whole result once more; for few channels or windows of 1 x 1 that took a
fifth to two fifths of the convolution's time. Here it is a pass over a block of pixels that was just written, or over
registers. The order of the three is fixed and each is rounded, so the bits are those of kernels of their own.
"""
from llvmlite import ir

from .native import Module, Value
from .patches import load_whole, store_vector
from .tile import spread, tile_shape

STEPS = ("bias", "residual", "relu")


def operands(finish):
    """The arrays that "bias+residual+relu", or a part of it, reads: they follow the result among the arguments."""
    return tuple(step for step in finish.split("+") if step in ("bias", "residual"))


def named(finish):
    """How a kernel's name tells of it."""
    return f"_{finish.replace('+', '_')}" if finish else ""


class Finish:
    """The writer of an epilogue.

    finish : some of STEPS in this order, with + between them; "" for none
    first  : number of the argument that is the result; the operands follow
    """

    def __init__(self, f, dtype, finish, first):
        self.f, self.steps = f, tuple(finish.split("+")) if finish else ()
        arrays = {name: f.array(dtype, f.arg(first + 1 + k)) for k, name in enumerate(operands(finish))}
        self.out, self.bias, self.residual = f.array(dtype, f.arg(first)), arrays.get("bias"), arrays.get("residual")
        self.arguments, self.lanes = first + 1 + len(arrays), tile_shape(dtype, f.module.target).lanes

    def write(self, position, count, channels, plane):
        """Finish `count` neighbours from element `position` on, and those of the other channels, `plane` elements apart."""
        if self.steps:
            with self.f.loop(0, channels) as channel:
                self.line(position + channel * plane, count, channel)

    def line(self, position, count, channel):
        """Finish `count` neighbours from element `position` on, of one channel."""
        f, lanes, one = self.f, self.lanes, None if self.bias is None else self.bias[channel].ir
        out, bias = self.out.at(position), self.spread(channel)
        more = None if self.residual is None else self.residual.at(position)
        whole = count // lanes * lanes
        with f.loop(0, whole, lanes, iterations="rare") as q:
            residual = None if more is None else load_whole(f, more.at(q), lanes)
            store_vector(f, out.at(q), self.value(load_whole(f, out.at(q), lanes), bias, residual))
        with f.loop(whole, count, iterations="rare") as q:
            out[q] = Value(f, self.value(out[q].ir, one, None if more is None else more[q].ir))

    def value(self, value, bias, residual):
        """The finished value, a number or a vector, of LLVM values; bias and residual of the same type, or None."""
        build = self.f.builder
        for other in (bias, residual):
            if other is not None:
                value = build.fadd(value, other)
        if "relu" not in self.steps:
            return value
        kind = value.type
        name = f"v{kind.count}{_letter(kind.element)}" if isinstance(kind, ir.VectorType) else _letter(kind)
        larger = self.f.module.external(f"llvm.maximum.{name}", kind, [kind, kind])       # a NaN stays
        zero = ir.Constant(kind, [0.0] * kind.count if isinstance(kind, ir.VectorType) else 0.0)
        return build.call(larger, [value, zero])

    def spread(self, channel):
        """The bias of a channel in all lanes of a vector; None without one."""
        if self.bias is None:
            return None
        return spread(self.f.builder, self.bias[channel].ir, ir.VectorType(self.bias.stored, self.lanes))


def _letter(kind):
    return "f32" if isinstance(kind, ir.FloatType) else "f64"


def write_finish(target, dtype, finish):
    """The Module of `finish`: args out, its operands, channels, elements of a plane; [begin, end): planes."""
    module = Module(f"finish_{dtype.short}{named(finish)}", target)
    with module.kernel(module.name) as f:
        rest = Finish(f, dtype, finish, 0)
        channels, plane = f.arg(rest.arguments), f.arg(rest.arguments + 1)
        with f.loop(f.begin, f.end) as item:
            rest.line(item * plane, plane, item % channels)
    module.written_by += [write_finish, Finish]
    return module
