"""Max pooling on a GPU. Forward a thread has a window. For the gradient it has as many neighbours as a window steps, so it looks
for the largest element of each window around them once, and neighbouring threads do the same work:

    3 x 3, step 2:   elements 2u, 2u + 1  <-  windows u - 1, u     (each way)

Both are written for a literal window, without a loop; windows that lie inside of the picture ask nothing of their places.
"""
from llvmlite import ir

I32 = ir.IntType(32)
MOST_ELEMENTS, MOST_TAPS = 16, 64       # of a thread: beyond, the text is long


def is_short(window, backward):
    """Is a window (rows, columns, steps down and right, dilation down and right) short enough to be written without a loop?"""
    kh, kw, sh, sw, dh, dw = window
    windows = ((kh - 1) * dh // sh + 1) * ((kw - 1) * dw // sw + 1) if backward else 1
    return windows * kh * kw <= MOST_TAPS and (sh * sw <= MOST_ELEMENTS or not backward)


class MaxPooling:
    """One part being written. f: its code;  number: the type of its numbers;  x: the picture;  sizes: the words planes, h, w, oh,
    ow, top, left"""

    def __init__(self, f, number, x, window, sizes):
        self.f, self.number, self.x, self.window, self.sizes = f, number, x, window, sizes

    def best(self, plane, i, j):
        """(the largest element of window (i, j), the number of its tap): of equals the first, NaN wins; -1 where it is empty."""
        f, (kh, kw, sh, sw, dh, dw), (_, h, w, _, _, top, left) = self.f, self.window, self.sizes
        most, where = f.variable(self.number, float("-inf")), f.variable(I32, -1)
        y, x = i * sh - top, j * sw - left

        def step(p, q):
            value = self.x[(plane * h + y + p * dh) * w + x + q * dw]
            held = most.get()
            wins = ((value > held) | value.differs(value) | (where.get() < 0)) & held.equals(held)
            most.set(f.select(wins, value, held))
            where.set(f.select(wins, f.number(I32, p * kw + q), where.get()))
        inside = (y >= 0) & (y + (kh - 1) * dh < h) & (x >= 0) & (x + (kw - 1) * dw < w)
        with f.choose(inside) as (whole, border):
            with whole:
                for p in range(kh):
                    for q in range(kw):
                        step(p, q)
            with border:
                for p in range(kh):
                    for q in range(kw):
                        at = y + p * dh, x + q * dw
                        with f.when((at[0] >= 0) & (at[0] < h) & (at[1] >= 0) & (at[1] < w)):
                            step(p, q)
        return most.get(), where.get()

    def forward(self, out):
        """Write out."""
        f, (planes, _, _, oh, ow, _, _) = self.f, self.sizes
        item = f.block * f.threads + f.thread
        with f.when(item < planes * oh * ow):
            plane, rest = item // (oh * ow), item % (oh * ow)
            out[item] = self.best(plane, rest // ow, rest % ow)[0]

    def backward(self, dout, dx):
        """Write dx: the sum of dout over the windows whose largest element this is, in their order."""
        f, (_, _, sh, sw, _, _), (planes, h, w, _, _, top, left) = self.f, self.window, self.sizes
        down, right = squares(self.window, self.sizes)
        item = f.block * f.threads + f.thread
        with f.when(item < planes * down * right):
            plane, rest = item // (down * right), item % (down * right)
            u, v = rest // right, rest % right
            totals = {(a, b): f.variable(self.number, 0) for a in range(sh) for b in range(sw)}
            self.gather(plane, u, v, dout, totals)
            for (a, b), total in totals.items():
                y, x = u * sh + a - top, v * sw + b - left
                with f.when((y >= 0) & (y < h) & (x >= 0) & (x < w)):
                    dx[(plane * h + y) * w + x] = total.get()

    def gather(self, plane, u, v, dout, totals):
        """Add to the totals of elements (u * sh + a, v * sw + b) of the picture with its border."""
        f, (kh, kw, sh, sw, dh, dw), (_, _, _, oh, ow, _, _) = self.f, self.window, self.sizes
        for back in range((kh - 1) * dh // sh, -1, -1):
            for left in range((kw - 1) * dw // sw, -1, -1):
                taps = [(a, b, p * kw + q) for a in range(sh) for p in range(kh) if p * dh == a + back * sh
                        for b in range(sw) for q in range(kw) if q * dw == b + left * sw]
                y, x = u - back, v - left
                with f.when((y >= 0) & (y < oh) & (x >= 0) & (x < ow)):
                    gradient, tap = dout[(plane * oh + y) * ow + x], self.best(plane, y, x)[1]
                    for a, b, number in taps:
                        total = totals[a, b]
                        total.set(f.select(tap.equals(number), total.get() + gradient, total.get()))


def squares(window, sizes):
    """How many threads down and right the gradient of a plane has."""
    _, _, sh, sw, _, _ = window
    _, h, w, _, _, top, left = sizes
    return (h + top + (sh - 1)) // sh, (w + left + (sw - 1)) // sw
