"""Names that are defined nowhere, refused when a function is compiled (config.mindspore_rules).

    def f(x):
        if x > 0: return x
        return x + a            NameError although this line may never be reached, as in a language that is compiled

It is MindSpore's rule for graph mode. Python's own, the default, is a NameError when the name is reached.
"""
import builtins

from ..common.errors import UndefinedNameError
from ..common.location import is_framework


def refuse_undefined(graph, fn):
    """Look up all global names that the function reads; those in the body of a `try` with `except` are left to the run.

    graph  : the FuncGraph of `fn` (`graph.names`: {name: Location of its first use})
    raises : UndefinedNameError for a name that is no variable of the module, no builtin, and not assigned by `fn` itself
    """
    if is_framework(fn.__code__.co_filename):
        return
    known = builtins_of(fn.__globals__)
    for name, location in graph.names.items():
        if name not in fn.__globals__ and name not in known:
            begin = graph.origin.location
            raise UndefinedNameError(f"The name {name!r} is not defined (in {begin.scope or graph.name} of {begin})",
                                     location=location)


def builtins_of(namespace):
    """The builtins that functions with these globals see, a dict."""
    known = namespace.get("__builtins__", builtins)
    return known if isinstance(known, dict) else vars(known)
