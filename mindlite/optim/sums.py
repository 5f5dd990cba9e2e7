"""What a loop adds up iteration by iteration, all at once behind it: the gradients on the way back through a loop.

    while: total + batch_matmul(%a, %b, transpose_a=True)           %a: [r, m], %b: [r, n], total: [m, n]
        ->   while: as[t] = %a; bs[t] = %b;     total + batch_matmul(as: [n r, m], bs: [n r, k], transpose_a=True)

    while: rows + dynamic_update(zeros, %v, t), from zeros          ->     while: rows[t] = %v + 0

Each iteration's product reads and writes all of the total for a few rows; what is stored instead is these rows (Appleyard,
Kocisky and Blunsom 2016, section 3.1), which the second equation has perhaps stored already. The sum has another order: as
with any other way to multiply, results differ by rounding.
"""
from ..mindir.abstract import AbstractTensor, AbstractTuple
from ..mindir.builder import append
from ..mindir.control import policy_of, while_loop
from ..mindir.inline import users_of
from ..ops.arithmetic import add
from ..ops.basic import reshape
from ..ops.creation import room
from ..ops.dynamic_slicing import dynamic_update
from ..ops.linalg import batch_matmul
from ..ops.scalar import scalar_binary
from .loops import ahead_of, moved_out, number_of, iteration_of, widened
from .rewrite import is_constant, rebuild

DTYPES = ("float32", "float64")  # in others a sum in another order differs by more
FEW_ROWS = 64                    # of one iteration: with more, the total is not what a product spends its time on
FEW_ITERATIONS = 4
MOST = 1 << 24                   # bytes that are stored for one product


def write_rows(graph):
    """Leaves no loop of a fixed number of iterations that adds a row to zeros where each iteration has another row."""
    return rebuild(graph, _written, {while_loop})


def join_products(graph):
    """Leaves no loop of a fixed number of iterations with a product of few rows that is only added to a larger total."""
    return rebuild(graph, _joined, {while_loop})


def _added(loop):
    """{number of a state that only the sum of it and another node reads: that other node}"""
    body, test = loop.attrs["body"], loop.attrs["cond"]
    uses = {node: len(users) for node, users in users_of(body).items()}
    asked = {a for node in test.nodes for a in node.args} | set(test.outputs)
    found = {}
    for number, (total, after) in enumerate(zip(body.parameters, body.outputs)):
        if getattr(after, "fn", None) is add and total in after.args and uses[total] == uses[after] == 1 \
                and test.parameters[number] not in asked:
            other = after.args[after.args[0] is total]
            if uses[other] == 1 and loop.args[number].abstract == other.abstract == after.abstract:
                found[number] = other
    return found


def _iterations_row(update, counter, least, iterations):
    """True for a dynamic_update whose rows are the iterations: one whole row, at the number of the iteration."""
    shape, start = update.abstract.shape, update.args[2]
    return shape[0] == iterations and update.args[1].abstract.shape == (1, *shape[1:]) and ahead_of(start, counter) == -least \
        and all(number_of(a) == 0 for a in update.args[3:])


def _written(loop):
    if policy_of(loop):
        return None
    counter, least, iterations = iteration_of(loop)
    found = {number: update for number, update in _added(loop).items() if getattr(update, "fn", None) is dynamic_update
             and is_constant(update.args[0], 0) and is_constant(loop.args[number], 0)
             and update.abstract.dtype.is_float
             and _iterations_row(update, counter, least, iterations)} if iterations > 0 else {}
    if not found:
        return None
    body = loop.attrs["body"]

    def row(number, update):
        def make(env, more):
            value, *starts = [env.get(a, a) for a in update.args[1:]]
            return dynamic_update(env[body.parameters[number]], add(value, 0.0), *starts)         # 0 + -0 is 0
        return make
    replaced = {update: None for update in found.values()}
    replaced.update({body.outputs[number]: row(number, update) for number, update in found.items()})
    args = [room(shape=a.abstract.shape, dtype=a.abstract.dtype) if i in found else a for i, a in enumerate(loop.args)]
    return append(while_loop, *args, cond=loop.attrs["cond"], body=widened(body, (), replaced),
                  invariants=loop.attrs["invariants"], abstract=loop.abstract)


def _joined(loop):
    if policy_of(loop):
        return None
    counter, least, iterations = iteration_of(loop)
    found = {number: product for number, product in _added(loop).items()
             if getattr(product, "fn", None) is batch_matmul
             and _pays(product, iterations)} if iterations >= FEW_ITERATIONS else {}
    if not found:
        return None
    body, n = loop.attrs["body"], len(loop.args) - loop.attrs["invariants"]
    kept = _kept(loop, counter, least, iterations)
    rows = [row for row in dict.fromkeys(operand for product in found.values() for operand in product.args) if row not in kept]
    kinds = [AbstractTensor(row.abstract.dtype, (iterations, *row.abstract.shape)) for row in rows]
    stay = [i for i in range(n) if i not in found]

    def write(env, more):
        iteration = scalar_binary(env[counter], -least, op="+") if least else env[counter]
        for row, stack in zip(rows, more):
            value = reshape(env.get(row, row), shape=(1, *row.abstract.shape))
            yield dynamic_update(stack, value, iteration, *[0] * row.abstract.ndim)
    gone = {node: None for number, product in found.items() for node in (product, body.outputs[number])}
    with moved_out(next(iter(found.values())), "join_products"):
        empty = [room(shape=kind.shape, dtype=kind.dtype) for kind in kinds]
        made = append(while_loop, *[loop.args[i] for i in stay], *empty, *loop.args[n:],
                      cond=widened(loop.attrs["cond"], before=n, states=kinds, without=found),
                      body=widened(body, (), gone, before=n, states=kinds, without=found, after=write),
                      abstract=AbstractTuple((*(loop.abstract.elements[i] for i in stay), *kinds)),
                      invariants=loop.attrs["invariants"])
        others = dict(zip(stay, made))
        stacks = {**{row: others[number] for row, number in kept.items()}, **dict(zip(rows, made[len(stay):]))}
        return tuple([others[i] if i in others else _total(loop.args[i], found[i], stacks) for i in range(n)])


def _pays(product, iterations):
    a, b = (arg.abstract for arg in product.args)
    if not product.attrs["transpose_a"] or product.attrs["transpose_b"] or (a.ndim, b.ndim) != (2, 2) \
            or a.dtype.name not in DTYPES or not all(isinstance(size, int) for size in (*a.shape, *b.shape)):
        return False
    (rows, m), n = a.shape, b.shape[1]
    kept = rows * (m + n)
    return rows <= FEW_ROWS and 2 * kept <= m * n and iterations * kept * a.dtype.itemsize <= MOST


def _kept(loop, counter, least, iterations):
    """{node of the body: number of a state whose rows are that node's values, iteration by iteration}"""
    body = loop.attrs["body"]
    found: dict = {}
    for number, (p, after) in enumerate(zip(body.parameters, body.outputs)):
        if getattr(after, "fn", None) is dynamic_update and after.args[0] is p \
                and _iterations_row(after, counter, least, iterations):
            row = after.args[1]
            while getattr(row, "fn", None) is reshape or getattr(row, "fn", None) is add and is_constant(row.args[1], 0):
                row = row.args[0]
                if row.abstract.shape == after.abstract.shape[1:]:
                    found.setdefault(row, number)
    return found


def _total(start, product, stacks):
    """What the loop would have added up."""
    a, b = (stacks[operand] for operand in product.args)
    whole = batch_matmul(*[reshape(x, shape=(x.shape[0] * x.shape[1], x.shape[2])) for x in (a, b)], **product.attrs)
    return whole if is_constant(start, 0) else add(start, whole)
