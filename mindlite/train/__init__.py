"""What surrounds training: networks and their Parameters in files."""
from .serialization import (  # noqa: F401
    export, load, load_checkpoint, load_param_into_net, save_checkpoint)
