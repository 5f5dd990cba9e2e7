"""The three forms of a Flow: native (machine code), vm (a table and the machine that runs it), python (source)."""
