"""Graphs: nodes, primitives and their tables of rules, abstract values, textual MindIR."""
