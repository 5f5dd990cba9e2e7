"""The cheapest choice for all variables together: exact min-sum variable elimination (Dechter 1999, section 4).

    cheapest({a: 3, b: 2}, [((a,), [0, 1, 5]), ((a, b), table)])     ->  ({a: 1, b: 0}, cost, True)

A variable is eliminated by adding up the tables in which it stands and keeping, for each choice of the others there, its best.
The one with the smallest such table comes first. Graphs of programs are narrow, so tables stay small; where one would not, the
variable is set to what looks best, and the result says that it is not exact.
"""
import math

import numpy as np

LIMIT = 1 << 20                                  # entries of a table


def cheapest(sizes, factors, limit=LIMIT):
    """({variable: choice}, the sum of the factors there, whether that is the least).

    sizes   : {variable: how many choices}
    factors : (tuple of different variables, array of their costs)
    """
    tables = dict(enumerate((tuple(names), np.asarray(costs, np.float64)) for names, costs in factors))
    of: dict = {name: set() for name in sizes}
    for key, (names, _) in tables.items():
        for name in names:
            of[name].add(key)
    order = {name: number for number, name in enumerate(sizes)}
    found: dict = {}
    trail, exact, fresh = [], True, len(tables)

    def width(name):
        others = {other for key in of[name] for other in tables[key][0]}
        return math.prod(sizes[other] for other in others)
    widths = {name: width(name) for name in sizes}
    while widths:
        name = min(widths, key=lambda n: (widths[n], order[n]))
        keys = sorted(of[name])
        if widths[name] > limit:
            exact, choice = False, _alone(name, [tables[key] for key in keys], sizes[name])
            found[name], made = choice, []
            for key in keys:
                names, costs = tables[key]
                axis = names.index(name)
                made.append((names[:axis] + names[axis + 1:], np.take(costs, choice, axis)))
        else:
            names, total = _added([tables[key] for key in keys], name, sizes)
            trail.append((name, names, total.argmin(-1)))
            made = [(names, total.min(-1))]
        touched = set()
        for key in keys:
            for other in tables[key][0]:
                of[other].discard(key)
                touched.add(other)
            del tables[key]
        for names, costs in made:
            tables[fresh] = names, costs
            for other in names:
                of[other].add(fresh)
            fresh += 1
        del widths[name]
        widths.update({other: width(other) for other in touched if other in widths})
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
