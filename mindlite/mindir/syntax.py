"""Primitives of the syntax dialect: what `parse` writes and `infer` executes. Names are Python's own words.

They are not operators: they take and give any Python value, have no rules, and none is left after inference.
"""
from __future__ import annotations


class Syntax:
    """A construct of Python. Fields: name, doc."""
    __slots__ = ("name", "doc")

    def __init__(self, name: str, doc: str) -> None:
        self.name, self.doc = name, doc
        ALL[name] = self

    def __repr__(self) -> str:
        return f"<Syntax {self.name}>"


class Undefined:
    """The value of a variable that is not assigned on some path; using it raises NameError as Python does."""
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"undefined({self.name})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Undefined) and other.name == self.name

    def __hash__(self) -> int:
        return hash(("undefined", self.name))


ALL: dict = {}

# terminators
return_ = Syntax("return", "(value)")
switch = Syntax("switch", "(condition; true=block, false=block, join=block or None)")
raise_ = Syntax("raise", "(), (exception) or (exception, cause); again=True where a handler lets it go on")
try_ = Syntax("try", "(; body=block, handler=block, exits, handler_exits, join=block or None) what is raised in the"
              " body goes to the handler; each ends where it jumps to one of its exits")


# names
load_global = Syntax("load_global", "(; name) a global of the function's module, or a builtin")
store_global = Syntax("store_global", "(value; name)")
delete_global = Syntax("delete_global", "(; name)")
load_closure = Syntax("load_closure", "(; name) a closure cell of the outermost function")
closure_cell = Syntax("closure_cell", "(; name) that cell itself, for `interpret` to read and write through")
store_closure = Syntax("store_closure", "(value; name) the value may be Undefined: the cell is emptied")
load_local = Syntax("load_local", "(value; name, free) the value, NameError if it is Undefined; stands where it may be")
cell_new = Syntax("cell_new",
                  "(value; name) a box for a variable that an inner function captures and that changes later")
cell_get = Syntax("cell_get", "(cell; name, free) NameError if it holds Undefined; free: of a function around")
cell_set = Syntax("cell_set", "(cell, value; name) the value may be Undefined: `del name`")
import_module = Syntax("import_module",
                       "(; name, level, attribute) `import name` or, with attribute, `from name import attribute`")

# objects
load_attr = Syntax("load_attr", "(object; name)")
store_attr = Syntax("store_attr", "(object, value; name)")
delete_attr = Syntax("delete_attr", "(object; name)")
load_item = Syntax("load_item", "(object, index)")
store_item = Syntax("store_item", "(object, index, value)")
delete_item = Syntax("delete_item", "(object, index)")

# expressions
unary = Syntax("unary", "(x; op) op in - + ~ not")
binary = Syntax("binary", "(a, b; op) op in + - * / // % ** @ << >> & | ^")
inplace = Syntax("inplace", "(a, b; op) the augmented assignment's operator; the result is assigned back")
compare = Syntax("compare", "(a, b; op) op in < <= > >= == != is 'is not' in 'not in'")
call = Syntax("call",
              "(fn, *args; layout) layout: a string per argument: '' positional, '*', '**', or the keyword's name")
make_function = Syntax("make_function",
                       "(*defaults; graph, signature) signature: inspect.Signature, a default is its number in args")
make_tuple = Syntax("make_tuple", "(*elements; stars) stars: numbers of the elements that are unpacked")
make_list = Syntax("make_list", "(*elements; stars)")
make_set = Syntax("make_set", "(*elements; stars)")
make_dict = Syntax("make_dict", "(key, value, ...) a key that is ValueNode(DICT_STAR) unpacks its value")
make_slice = Syntax("make_slice", "(start, stop, step)")
format_value = Syntax("format_value", "(value, spec; conversion) conversion: '', 's', 'r', 'a'")
join_str = Syntax("join_str", "(*parts)")
unpack = Syntax("unpack", "(value; before, star, after) the items as one tuple; with star, item `before` is a list")
list_append = Syntax("list_append", "(list, value) of a comprehension; no result")
set_add = Syntax("set_add", "(set, value) of a comprehension; no result")
match_sequence = Syntax("match_sequence",
                        "(value; length, star) is it a sequence (PEP 634) of that length, with star at least?")

match_keys = Syntax("match_keys", "(value, *keys) the values of a mapping (PEP 634) for these keys, a tuple; None if it has"
                    " not all of them or is none")
match_rest = Syntax("match_rest", "(mapping, *keys) the dict of its other keys")
match_class = Syntax("match_class", "(value, class; count, names) the first `count` of __match_args__ and the attributes"
                     " `names` of an instance of the class, a tuple; None if it is none or lacks one")

# loops: it = get_iter(x); header(i, ...): switch(iter_more(it, i));
#        body: target = iter_item(it, i); ... jump header(iter_step(i), ...)
get_iter = Syntax("get_iter", "(iterable)")
iter_more = Syntax("iter_more", "(iterator, i)")
iter_item = Syntax("iter_item", "(iterator, i)")
iter_step = Syntax("iter_step", "(i) i + 1")

# generators
yield_ = Syntax("yield", "(value; resume=block, parts) terminator: parts are (try, is this its handler?) of each `try`"
                " around")
sent = Syntax("sent", "(; delegates) what the one who goes on with the generator has sent; delegates: it is for another")
iter_returned = Syntax("iter_returned", "(iterator) what a generator that has ended returned, None of other iterators")

# exceptions
caught = Syntax("caught", "() the exception that the handler is about")
catches = Syntax("catches", "(exception, classes) does `except classes` take it?")
enter_context = Syntax("enter_context", "(manager) manager.__enter__()")
exit_context = Syntax("exit_context", "(manager, exception or None) manager.__exit__(class, exception, traceback)")

# JIT Fallback
interpret = Syntax("interpret", "(*reads; source, reads, cells, writes, leaves, code, reason) run the statement in Python; the"
                   " values of `writes` as a tuple, after (how it left, value) if `leaves`; with writes=None it is"
                   " an expression and the result its value. Run by fallback/segment.py")

DICT_STAR = object()
