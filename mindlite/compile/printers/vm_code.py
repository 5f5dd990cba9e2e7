"""What surrounds the register machine's switch (vm_machine.py): lists of registers, calls with frames. Low Python."""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors
from __future__ import annotations


def vm_gather(numbers: int, frame: int, to: int, n: int) -> int:
    """to[0..n): the registers with these numbers."""
    i = 0
    while i < n:
        store(to, i * 8, load(frame, load(numbers, i * 8) * 8))
        i += 1


def vm_scatter(numbers: int, frame: int, source: int, n: int) -> int:
    """The registers with these numbers: source[0..n)."""
    i = 0
    while i < n:
        store(frame, load(numbers, i * 8) * 8, load(source, i * 8))
        i += 1


def vm_call(ctx: int, code: int, pc: int, size: int, ret: int, caller: int, args: int, params: int, n: int) -> int:
    """Run from pc on with a frame of `size` numbers, into which go the values of `caller` that args name."""
    frame = api.ml_malloc(size * 8)
    if frame == 0:
        store(ctx, at.FAIL_SITE, -1)
        return 1
    i = 0
    while i < size:
        store(frame, i * 8, 0)
        i += 1
    i = 0
    while i < n:
        store(frame, load(params, i * 8) * 8, load(caller, load(args, i * 8) * 8))
        i += 1
    status = api.vm(ctx, code, pc, frame, ret)
    api.ml_free(frame)
    return status


def vm_run(ctx: int) -> int:
    return vm_call(ctx, load(ctx, at.CODE), 0, load(ctx, at.FRAME), ctx + load(ctx, at.RESULTS) * 8, 0, 0, 0, 0)
