"""Reading: Python's source text becomes a FuncGraph in the syntax dialect of MindIR (docs/design/spine.md, section 1)."""
