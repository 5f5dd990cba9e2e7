"""What surrounds training: networks and their Parameters in files."""
from .serialization import export, load  # noqa: F401
