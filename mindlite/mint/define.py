"""How functions of mint are declared: `public` names them and lists them in their module's __all__."""


def publisher(module):
    """The decorator `public` of a module, whose globals are given: the function is one of its public names.

    public(function, name) : under another name than its own
    """
    names = module["__all__"]

    def public(function, name=None):
        name = name or function.__name__
        function.__name__ = function.__qualname__ = name
        module[name] = function
        names.append(name)
        return function
    return public
