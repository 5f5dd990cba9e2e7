"""The only room that knows all transformations: pipeline, lowering to Flow, memory plan, printers, JitFunction."""
