"""Free memory that malloc keeps, so that arrays of some MB are made of it and not of new pages.

    a step frees 5 results of 2 MB     ->      the next step's results lie where they lay

glibc maps what is large by itself, and gives the free end of its heap back to the system once it is twice as long as the
largest array that was freed: a program that frees several results together, as each step of a training does, gets new
pages for all of them at each step. The system clears a page before it is written to, which takes several times as long as what
most kernels do with it.

What is kept is kept for each arena: of a program whose threads make arrays (ranks as threads, say) malloc has several.

Source: mallopt(3), M_MMAP_THRESHOLD and M_TRIM_THRESHOLD.
"""
from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3                  # of malloc.h
MOST_MAPPED = 32 << 20                                       # glibc maps what is larger, whatever it is told


def keep_memory(nbytes: int) -> None:
    """Let glibc keep freed memory at the end of its heap; other systems have their own ways.

    nbytes : int, how many bytes at most
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_THRESHOLD, min(nbytes, MOST_MAPPED))
        mallopt(M_TRIM_THRESHOLD, nbytes)
