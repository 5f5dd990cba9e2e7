"""Every operator. One family per file; one block per operator: signature, docstring, rules."""
from . import evaluate, methods  # noqa: F401
from .arithmetic import *  # noqa: F401,F403
from .basic import broadcast_to, cast, reduce_sum, reshape, transpose  # noqa: F401
from .complex_numbers import angle, conj, imag, make_complex as complex, real  # noqa: F401
from .elementary import *  # noqa: F401,F403
from .linalg import batch_matmul  # noqa: F401
from .logic import *  # noqa: F401,F403
