"""The ground: dtypes, sizes (Dim), Tensors, errors with the user's line, switches (config), seeds, events."""
