"""The cheapest choice for all variables together: min-sum variable elimination (Dechter 1999, section 4).

    cheapest({a: 3, b: 2}, [((a,), [0, 1, 5]), ((a, b), table)])     ->  ({a: 1, b: 0}, cost, True)

A variable is eliminated by adding up the tables in which it stands and keeping, for each choice of the others there, its best.
The one with the smallest such table comes first. Graphs of programs are narrow, so tables stay small, and the choice is the best.
Where one would not, the variable with the most neighbours there is set, and the result says that it is not exact: at first to
what looks best, then again and again to what the best choice up to now says, with other limits and so other variables.
Each pass is exact for all that are not set, so none is worse than the one before (a large neighbourhood search, Shaw 1998). Who
knows a sensible choice gives it: from a bad one such passes may not find the way to it.
"""
import heapq
import math

import numpy as np

LIMIT = 1 << 20                                  # entries of a table
PASSES = (6, 2, 4, 2, 6, 2, 0)                   # by how many powers of two the limit of each is lower than that of the first
PATIENCE = 3                                     # passes that find nothing


def cheapest(sizes, factors, limit=LIMIT, usual=()):
    """({variable: choice}, the sum of the factors there, whether that is the least).

    sizes   : {variable: how many choices}
    factors : (tuple of one or two different variables, array of their costs)
    usual   : {variable: choice} of some of them, from which passes begin where the search is not exact
    """
    tables = _merged(factors)
    best, least, exact = first = _eliminated(sizes, tables, limit, {}, 0)
    if usual and not exact:
        best, least = _completed(sizes, tables, limit, usual)
    in_vain = 0
    for number, lower in enumerate(PASSES, 1):
        if exact or in_vain == PATIENCE:
            break
        found, cost, exact = _eliminated(sizes, tables, limit >> lower, best, number)
        in_vain = 0 if cost < least * (1 - 1e-9) else in_vain + 1
        if cost < least:
            best, least = found, cost
    return (best, least, exact) if least <= first[1] else first


def _completed(sizes, tables, limit, usual):
    """(choice, cost) where the variables of `usual` have the choices there."""
    fixed = []
    for names, costs in tables:
        for name in [name for name in names if name in usual]:
            costs = np.take(costs, usual[name], names.index(name))
            names = tuple([other for other in names if other != name])
        fixed.append((names, costs))
    others = {name: size for name, size in sizes.items() if name not in usual}
    found, cost, _ = _eliminated(others, _merged(fixed), limit, {}, 0)
    return {**usual, **found}, cost


def _merged(factors):
    """[(names, array)], one for the same variables."""
    found: dict = {}
    for names, costs in factors:
        costs = np.asarray(costs, np.float64)
        if names[::-1] in found:
            names, costs = names[::-1], costs.T
        found[names] = found[names] + costs if names in found else costs
    return list(found.items())


def _eliminated(sizes, factors, limit, guess, number):
    """(choice, cost, exact) of one pass. guess: {variable: choice} for those that are set, {}: what looks best; number: which of
    the variables with the most neighbours is set"""
    tables, fresh = dict(enumerate(factors)), len(factors)
    of: dict = {name: set() for name in sizes}
    for key, (names, _) in tables.items():
        for name in names:
            of[name].add(key)
    order = {name: place for place, name in enumerate(sizes)}
    found: dict = {}
    trail, exact = [], True

    def around(name):
        return {name, *[other for key in of[name] for other in tables[key][0]]}
    widths = {name: math.prod(sizes[other] for other in around(name)) for name in sizes}
    heap = [(width, order[name], name) for name, width in widths.items()]
    heapq.heapify(heap)
    while widths:
        width, _, name = heapq.heappop(heap)
        if widths.get(name) != width:                        # one of before
            continue
        if width > limit:
            exact = False
            most = sorted(around(name), key=lambda other: (-len(around(other)), -sizes[other], order[other]))[:3]
            heapq.heappush(heap, (width, order[name], name))
            name = most[number % len(most)]
            keys = sorted(of[name])
            found[name] = choice = guess[name] if guess else _alone(name, [tables[key] for key in keys], sizes[name])
            made = []
            for key in keys:
                names, costs = tables[key]
                axis = names.index(name)
                made.append((names[:axis] + names[axis + 1:], np.take(costs, choice, axis)))
        else:
            keys = sorted(of[name])
            names, total = _added([tables[key] for key in keys], name, sizes)
            trail.append((name, names, total.argmin(-1)))
            made = [(names, total.min(-1))]
        touched = {other for key in keys for other in tables[key][0] if other != name}
        for key in keys:
            for other in tables.pop(key)[0]:
                of[other].discard(key)
        for names, costs in made:
            tables[fresh] = names, costs
            for other in names:
                of[other].add(fresh)
            fresh += 1
        del widths[name]
        for other in touched:
            widths[other] = math.prod(sizes[one] for one in around(other))
            heapq.heappush(heap, (widths[other], order[other], other))
    for name, names, best in reversed(trail):
        found[name] = int(best[tuple([found[other] for other in names])])
    return found, float(sum(costs for _, costs in tables.values())), exact


def _added(tables, name, sizes):
    """(the other variables, the sum of the tables with the axis of `name` last)."""
    others = tuple(dict.fromkeys(other for names, _ in tables for other in names if other != name))
    position = {other: i for i, other in enumerate((*others, name))}
    total = np.zeros([sizes[other] for other in (*others, name)])
    for names, costs in tables:
        order = sorted(range(len(names)), key=lambda i: position[names[i]])
        shape = [1] * len(position)
        for i in order:
            shape[position[names[i]]] = sizes[names[i]]
        total = total + costs.transpose(order).reshape(shape)
    return others, total


def _alone(name, tables, count):
    """The best choice of a variable if all others do what suits it."""
    cost = np.zeros(count)
    for names, costs in tables:
        axis = names.index(name)
        cost = cost + costs.min(tuple([i for i in range(costs.ndim) if i != axis]))
    return int(cost.argmin())
