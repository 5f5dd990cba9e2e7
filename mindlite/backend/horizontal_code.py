"""Several kernels as one (graph_kernel/horizontal.py): who shares out their units of work. Low Python (low_python.py).

words: how many parts, the most arguments of one, and for each part: address, how many arguments, the places among the caller's
of its extent, of its units per item, of its arguments (printers/parts.py).
"""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _items(units, whole, each):
    """How many items of a part begin before its unit with that number."""
    if units <= 0:
        return 0
    if units > whole:
        units = whole
    return (units + each - 1) // each


def share_out(args, begin, end, words):
    given = stack(load(words, 8))
    part = words + 16
    left = load(words)
    start = 0
    while left > 0:
        count = load(part, 8)
        each = load(args + load(part, 24) * 8)
        whole = load(args + load(part, 16) * 8) * each
        first = _items(begin - start, whole, each)
        last = _items(end - start, whole, each)
        if first < last:
            i = 0
            while i < count:
                store(given + i * 8, 0, load(args + load(part + i * 8, 32) * 8))
                i += 1
            call(load(part), given, first, last)
        start += whole
        part += 32 + count * 8
        left -= 1
    return 0
