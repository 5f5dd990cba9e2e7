"""Inference: from the syntax dialect to typed graphs, by executing what is known (`specialise.specialise` is the
entry)."""
