"""Builtins, containers and operators that are given what they do not take: a graph says what Python says, and never that it
is a fault of mindlite. Those of these expressions that have a value have the same one."""
import re

import numpy as np
import pytest

import mindlite as ms
from mindlite import Tensor

BUILTINS = ("""enumerate([x], [1])  enumerate([x],(x,x))  enumerate([x],1.5)  enumerate(3)  map(abs)  map(3,[1])  filter(abs,3)
    bool(1,2)  float(1,2)  int('11',2)  int(x,2)  int([])  hasattr(n,[1])  getattr(n,(),3)  getattr(abs,n)  hasattr(n,'real')
    reversed(iter([1]))  reversed({1})  reversed(n)  range(x)  range(v)  range(None)  range(x,2)  range()
    zip(1)  iter(3)  next([1])
    dict({},())  dict(1)  dict([1])  set([[1]])  set(3)  tuple(3)  sum(3)  sum('ab')  sorted(3)  sorted([1,'a'])  len(3)
    len(iter([1]))
    max()  max([])  min(n)  any(3)  abs('a')  round('a')  pow('a',2)  divmod('a',2)  isinstance(n,3)  callable()
    abs(*n)  abs(**[])  int(**())  abs(n,**{'a':1})  type(iter([1]))  isinstance(iter([1]),list)""")
CONTAINERS = ("""[].pop()  [1].pop('a')  [1].index(5)  {}.popitem()  {}['a']  {1}.remove(2)  [1].insert('a',2)  'a'.join([1])
    (1,2).index(3)  [1].extend(n)  {}.update(n)  {1:2}.pop('b')  [3].sort(key=3)  [3,'a'].sort()  {[1]:2}  {(1,[x]):2}  {1:2}[[1]]
    {}.get([1])  [1]in{1:2}  {1}in{1}  {1}in[{1}]  [1]+(1,)  [1]*2.0  'a'*x  (1,)[5]  [1][v]""")
OTHERS = ("""x()  n()  None.a  n.a  x.foo  x+'a'  x+None  n+None  -'a'  ~v  x<'a'  n<'a'  n//0  v%0  n<<-1  x[5]  x['a']  x[v]
    x[0,0]  n[0]  n['a']  str(range(x.shape[0]))  f'{range(x.shape[0])}'  repr([range(x.shape[0])])""")


def ends(function, *args):
    try:
        value = function(*args)
        return "value", repr(list(value) if hasattr(value, "__next__") else value)
    except Exception as error:
        kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
        return kind.__name__, getattr(error, "message", str(error))


@pytest.mark.python_runs("an expression that raises: Python says what is wrong")
@pytest.mark.parametrize("expressions", [BUILTINS, CONTAINERS, OTHERS], ids=["builtins", "containers", "others"])
def test_a_graph_says_what_python_says(expressions, tmp_path):
    different = []
    for number, expression in enumerate(re.split(r"\s{2,}", expressions)):
        file = tmp_path / f"line{number}.py"
        file.write_text(f"def f(x, n, v):\n    made = {expression}\n    return made\n")
        worlds = [{}, {}]
        for world in worlds:
            exec(compile(file.read_text(), str(file), "exec"), world)
        given = Tensor(np.array([1.0, 2.0])), 3, 0.5
        longer = Tensor(np.array([1.0, 2.0, 4.0])), 3, 0.5
        jitted = ms.jit(worlds[1]["f"])
        for args in (given, longer):
            if (python := ends(worlds[0]["f"], *args)) != (graph := ends(jitted, *args)):
                different.append((expression, python, graph))
    assert not different, "\n".join(map(str, different))
