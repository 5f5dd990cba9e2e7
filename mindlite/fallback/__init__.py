"""JIT Fallback: statements and calls that run in Python between native code.

segment.py compiles and runs a statement with named inputs and outputs; record.py says what such a run gave; log.py keeps
what a run's calls gave, so that it can begin again. `parse` writes the statements, `infer` decides what falls back,
`compile` calls it at run time.
"""
