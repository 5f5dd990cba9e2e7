"""ndarrays as machine code reads them: what all modules of low Python that look into Tensors share. Low Python."""
# flake8: noqa: F821    the names of low Python
# mypy: ignore-errors


def _array_in(value, slot):
    """The ndarray in a slot of a Tensor; 0 where there is none, or an instance of a subclass."""
    array = load(value, slot)
    if array == 0 or load(array, at.TYPE) != this.NDARRAY:
        return 0
    return array


def _equal_sizes(a, b, rank):
    """1 if both are the same sizes."""
    i = 0
    while i < rank:
        if load(a + i * 8) != load(b + i * 8):
            return 0
        i += 1
    return 1


def _has_form(array, descr, rank, sizes):
    """1 if an ndarray has this dtype and these sizes."""
    if load(array, at.DESCR) != descr or load32(array, at.NDIM) != rank:
        return 0
    return _equal_sizes(sizes, load(array, at.SIZES), rank)
