"""How kernels are written: a scheduled LoopNest as LLVM IR, or as Python text for Numba and for people."""
