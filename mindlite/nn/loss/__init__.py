"""Loss functions as Cells."""
