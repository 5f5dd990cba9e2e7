"""Storages, tapes, outputs and the trace of a run (runtime.py says what each function does). Low Python (backend/low_python.py).

at.TABLE, at.POOL, ..: bytes from the beginning of the context; at.NBYTES, ..: bytes before the data of a block.
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors
from __future__ import annotations


def rt_floordiv(a: int, b: int) -> int:
    """a // b as Python rounds it, 0 for b = 0."""
    if b == 0:
        return 0
    if b == -1:                                              # the processor has no -2 ** 63 // -1
        return -a
    rest = a % b
    return a // b - (rest != 0 and (rest ^ b) < 0)


def rt_mod(a: int, b: int) -> int:
    if b == 0 or b == -1:
        return 0
    rest = a % b
    return rest + b if rest != 0 and (rest ^ b) < 0 else rest


def rt_shl(a: int, b: int) -> int:
    return a << b if b >= 0 and b < 64 else 0


def rt_shr(a: int, b: int) -> int:
    n = b if b >= 0 and b < 64 else 63
    return a >> n if a >= 0 else -1 - (-1 - a >> n)          # >> fills up with zeros


def rt_trace(ctx: int, kind: int, number: int, offset: int, nbytes: int) -> int:
    length = load(ctx, at.TRACE_LENGTH)
    if length >= load(ctx, at.TRACE_CAPACITY):
        wanted = load(ctx, at.TRACE_CAPACITY) * 2
        if wanted < 256:
            wanted = 256
        grown = api.ml_realloc(load(ctx, at.TRACE), wanted * 32)
        if grown == 0:
            return 0
        store(ctx, at.TRACE, grown)
        store(ctx, at.TRACE_CAPACITY, wanted)
    event = load(ctx, at.TRACE) + length * 32
    store(event, 0, kind)
    store(event, 8, number)
    store(event, 16, offset)
    store(event, 24, nbytes)
    store(ctx, at.TRACE_LENGTH, length + 1)


def _pointed(start: int, nbytes: int, avoid: int, navoid: int) -> int:
    """1 if one of the pointers avoid[0..navoid) lies in [start, start + nbytes)."""
    i = 0
    while i < navoid:
        distance = load(avoid + i * 8) - start
        if distance >= 0 and distance < nbytes:
            return 1
        i += 1
    return 0


def rt_static(ctx: int, first: int, count: int, nbytes: int, avoid: int, navoid: int) -> int:
    row = load(ctx, at.TABLE) + first * 16
    number = first
    while number < first + count - 1 and _pointed(load(row), load(row, 8), avoid, navoid) != 0:
        number += 1
        row += 16
    address = load(row)
    if load(ctx, at.VERIFY) != 0:
        size = load(row, 8)
        if nbytes > size:
            return 0
        rt_trace(ctx, 1, number, address - load(ctx, at.ARENA), size)
        api.ml_memset(address, 255, size)
    return address


def rt_kill_static(ctx: int, first: int, count: int) -> int:
    row = load(ctx, at.TABLE) + first * 16
    number = first
    while number < first + count:
        rt_trace(ctx, 0, number, load(row) - load(ctx, at.ARENA), load(row, 8))
        api.ml_memset(load(row), 255, load(row, 8))
        number += 1
        row += 16


def _release(ctx: int, data: int, number: int) -> int:
    store(data, at.IN_USE, 0)
    store(ctx, at.POOL_USED, load(ctx, at.POOL_USED) - load(data, at.CAPACITY))
    if load(ctx, at.VERIFY) != 0:
        rt_trace(ctx, 0, number, -1, load(data, at.NBYTES))
        api.ml_memset(data, 255, load(data, at.NBYTES))


def _fresh_block(ctx: int, nbytes: int) -> int:
    """A new block of the pool, aligned to 64 bytes; 0 if there is no memory."""
    padded = (nbytes + 127) & -64
    raw = api.ml_malloc(padded + 128)
    if raw == 0:
        return 0
    block = (raw + 127) & -64
    store(block, at.CAPACITY, padded)
    store(block, at.NEXT, load(ctx, at.POOL))
    store(block, at.RAW, raw)
    store(ctx, at.POOL, block)
    store(ctx, at.POOL_TOTAL, load(ctx, at.POOL_TOTAL) + padded)
    return block


def rt_alloc(ctx: int, slots: int, count: int, nbytes: int, avoid: int, navoid: int, number: int) -> int:
    if nbytes < 0:
        return 0
    slot = slots
    while load(slot) != 0:                                   # the first slot that is free, or whose block nothing points into
        held = load(slot)
        i = (slot - slots) // 8
        if i >= count - 1 or _pointed(held, load(held, at.NBYTES), avoid, navoid) == 0:
            _release(ctx, held, number + i)
            store(slot, 0, 0)
        else:
            slot += 8
    best = 0
    most = nbytes * 2 + 4096
    block = load(ctx, at.POOL)
    while block != 0:
        capacity = load(block, at.CAPACITY)
        if load(block, at.IN_USE) == 0 and capacity >= nbytes and capacity < most:
            best = block
            most = capacity
        block = load(block, at.NEXT)
    if best == 0:
        best = _fresh_block(ctx, nbytes)
        if best == 0:
            return 0
    store(best, at.NBYTES, nbytes)
    store(best, at.IN_USE, 1)
    store(slot, 0, best)
    used = load(ctx, at.POOL_USED) + load(best, at.CAPACITY)
    store(ctx, at.POOL_USED, used)
    if used > load(ctx, at.POOL_PEAK):
        store(ctx, at.POOL_PEAK, used)
    if load(ctx, at.VERIFY) != 0:
        rt_trace(ctx, 1, number + (slot - slots) // 8, -1, nbytes)
        api.ml_memset(best, 255, nbytes)
    return best


def rt_kill(ctx: int, slots: int, count: int, number: int) -> int:
    i = 0
    while i < count:
        data = load(slots + i * 8)
        if data != 0:
            _release(ctx, data, number + i)
            store(slots + i * 8, 0, 0)
        i += 1


def rt_end(ctx: int) -> int:
    tape = load(ctx, at.TAPES)
    while tape != 0:
        following = load(tape, 24)
        api.ml_free(load(tape))
        api.ml_free(tape)
        tape = following
    store(ctx, at.TAPES, 0)
    block = load(ctx, at.POOL)
    while block != 0:
        store(block, at.IN_USE, 0)
        block = load(block, at.NEXT)
    store(ctx, at.POOL_USED, 0)


def rt_clear(ctx: int) -> int:
    block = load(ctx, at.POOL)
    while block != 0:
        following = load(block, at.NEXT)
        api.ml_free(load(block, at.RAW))
        block = following
    store(ctx, at.POOL, 0)
    store(ctx, at.POOL_TOTAL, 0)


def rt_tape_new(ctx: int) -> int:
    tape = api.ml_malloc(32)
    if tape == 0:
        return 0
    store(tape, 0, 0)
    store(tape, 8, 0)
    store(tape, 16, 0)
    store(tape, 24, load(ctx, at.TAPES))
    store(ctx, at.TAPES, tape)
    return tape


def rt_tape_push(tape: int, source: int, nbytes: int) -> int:
    if nbytes < 0:
        return 1
    length = load(tape, 8)
    end = length + ((nbytes + 15) & -16)
    if end + 16 > load(tape, 16):
        room = load(tape, 16) * 2
        if room < end + 16:
            room = end + 16
        if room < 1024:
            room = 1024
        grown = api.ml_realloc(load(tape), room)
        if grown == 0:
            return 1
        store(tape, 0, grown)
        store(tape, 16, room)
    base = load(tape)
    api.ml_memmove(base + length, source, nbytes)
    store(base + end, 0, nbytes)
    store(tape, 8, end + 16)
    return 0


def rt_tape_push_scalar(tape: int, value: int) -> int:
    cell = stack(1)
    store(cell, 0, value)
    return rt_tape_push(tape, cell, 8)


def rt_tape_pop(tape: int) -> int:
    length = load(tape, 8)
    if length == 0:
        return 0
    foot = length - 16
    start = foot - ((load(load(tape) + foot) + 15) & -16)
    store(tape, 8, start)
    return load(tape) + start


def rt_output(ctx: int, index: int, source: int, nbytes: int, dims: int, ndims: int) -> int:
    if nbytes < 0:
        return 1
    row = load(ctx, at.OUTPUTS) + index * at.OUTPUT_RECORD
    grown = api.ml_realloc(load(row), nbytes if nbytes > 0 else 1)
    if grown == 0:
        return 1
    store(row, 0, grown)
    api.ml_memmove(grown, source, nbytes)
    store(row, 8, nbytes)
    store(row, 16, ndims)
    api.ml_memmove(row + 24, dims, ndims * 8)
    return 0


def _word_at(bases: int, where: int) -> int:
    """The word that launch_list.py says where it lies."""
    return load(load(bases + (where & 3) * 8) + (where >> 2) * 8)


def rt_launches(ctx: int, launches: int, count: int, numbers: int, args: int) -> int:
    links = load(ctx, at.KERNELS)
    launcher = load(ctx, at.LAUNCHER)
    bases = stack(4)
    store(bases, 0, numbers)
    store(bases, 8, load(ctx, at.TABLE))
    store(bases, 16, links)
    store(bases, 24, ctx)
    this = launches
    n = 0
    while n < count:
        taken = load(this, 32)
        i = 0
        while i < taken:
            store(args + i * 8, 0, _word_at(bases, load(this + i * 8, 40)))
            i += 1
        kernel = load(links + load(this) * 8)
        extent = _word_at(bases, load(this, 8))
        cost = load(this, 16)
        if cost < 0:
            status = call(kernel, args, 0, extent)
        else:
            status = call(launcher, kernel, args, extent, _word_at(bases, cost))
        if status != 0:
            store(ctx, at.FAIL_SITE, load(this, 24))
            store(ctx, at.FAIL_STATUS, status)
            return 1
        this += 40 + taken * 8
        n += 1
    return 0
