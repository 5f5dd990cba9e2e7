"""Numbers for everything a printed Flow refers to: places that may fail, kernels, handles.

A *place* is an instruction that may stop the run or call Python; its number is what generated code stores when it
fails, so all printers fail with the same error. Handles whose sizes are known on entry stand in the instance's table
behind the storages.
"""
from ..common.dim import symbols_of
from ..common.dtype import ALL
from ..common.late import LateAttributes
from . import flow as F
from .flow_verify import verify as verify_program

_PLACES = (F.Check, F.Exact, F.CallKernel, F.PythonSegment, F.Handle, F.Alloc, F.TapeNew, F.TapePush, F.TapePop,
           F.Output, F.CallFlow)


class Linked:
    """A planned program with its numbers.

    program, plan : what `memory.plan` gave
    verify        : poison and trace
    places        : the instructions that may fail, by number; `place(instruction)` is the number
    returns       : the kinds of what the entry returns;   outputs: how many places Outputs need
    kernels       : the kernels, each once; `kernel_number(kernel)`
    arrays        : the constant arrays, each once; `array_number(array)`
    handles       : [Handle] made once per instance; `table_index(handle)` is its place in the table, None if made on
    the way
    segments      : {place: (instruction, kinds that it reads, kinds that it writes)} of those that call Python
    recursive     : True if any Flow calls one;   frame_bytes: about what one call takes of the stack, at most
    cleans_up     : True if a run leaves something that has to be freed
    """

    def __init__(self, program, plan, verify):
        self.program, self.plan, self.verify = program, plan, verify
        self.places, self._place, self._kinds = [], {}, []
        self.dtypes = {d.name: d for d in ALL}
        self.kernels, self._kernel = [], {}
        self.arrays, self._array = [], {}
        self.handles, self._handle = [], {}
        self.segments, self.recursive, self.cleans_up = {}, False, False
        self.returns, self.outputs, symbols = program.entry.returns, 0, set(plan.symbols)
        self.frame_bytes = max(512 + 16 * (len(f.kinds) + self.scratch(f)) for f in program.all_flows())
        for flow in program.all_flows():
            for i in F.walk(flow.body):
                self._add(flow, i, symbols)

    def _add(self, flow, i, symbols):
        if isinstance(i, _PLACES) and id(i) not in self._place:
            self._place[id(i)] = len(self.places)
            self.places.append(i)
            self._kinds.append((tuple(flow.kinds[r] for r in i.reads), tuple(flow.kinds[r] for r in i.writes)))
        if isinstance(i, F.CallKernel) and id(i.kernel) not in self._kernel:
            self._kernel[id(i.kernel)] = len(self.kernels)
            self.kernels.append(i.kernel)
        if isinstance(i, F.Data) and id(i.array) not in self._array:
            self._array[id(i.array)] = len(self.arrays)
            self.arrays.append(i.array)
        if isinstance(i, F.Handle):
            if flow is self.program.entry and i.dims is not None and all(symbols_of(d) <= symbols for d in i.dims):
                self._handle[id(i)] = len(self.handles)
                self.handles.append(i)
            else:
                self._add_segment(i)
        if isinstance(i, F.Output):
            self.outputs = max(self.outputs, i.index + 1)
        self.recursive |= isinstance(i, F.CallFlow)
        if isinstance(i, F.PythonSegment):
            self._add_segment(i)
        self.cleans_up |= isinstance(i, F.TapeNew) or (
            isinstance(i, F.Alloc) and not self.plan.sites[flow.name, i.dst].planned)

    def _add_segment(self, i):
        number = self._place[id(i)]
        self.segments[number] = i, *self._kinds[number]

    @property
    def has_python(self):
        """True if a run may call Python."""
        return bool(self.segments)

    def run_needs(self):
        """What is asked for to run it, beside its machine code: attributes by name."""
        return {name: getattr(self, name) for name in (
            "returns", "outputs", "kernels", "arrays", "handles", "segments", "recursive", "cleans_up", "frame_bytes")}

    @staticmethod
    def is_place(instruction):
        """True for an instruction that may fail or call Python."""
        return isinstance(instruction, _PLACES)

    def place(self, instruction):
        """The number of an instruction that may fail."""
        return self._place[id(instruction)]

    def kernel_number(self, kernel):
        """The number of a kernel."""
        return self._kernel[id(kernel)]

    def array_number(self, array):
        """The number of a constant array."""
        return self._array[id(array)]

    def addresses(self):
        """The addresses of the kernels and then of the constant arrays."""
        return [kernel.address for kernel in self.kernels] + [array.ctypes.data for array in self.arrays]

    def table_index(self, handle):
        """Where the table holds the handle; None if it is made on the way."""
        number = self._handle.get(id(handle))
        return None if number is None else 2 * len(self.plan.storages) + number

    def site(self, flow, register):
        """The memory Site of an Alloc."""
        return self.plan.sites[flow.name, register]

    def scratch(self, flow):
        """The most numbers that one instruction of the flow hands over at once."""
        most = 1
        for i in F.walk(flow.body):
            if isinstance(i, F.Alloc):
                most = max(most, len(self.site(flow, i.dst).avoid))
            most = max(most, len(i.reads), len(i.writes))
        return most

    def kinds_of(self, place):
        """(kinds of what the instruction at that place reads, kinds of what it writes)."""
        return self._kinds[place]


class KeptLinked(LateAttributes, Linked):
    """The Linked of a program from the disk: what `run_needs` gave is known, the program is verified and walked when somebody
    asks for more."""

    def __init__(self, program, plan, verify, needs):
        def find():
            verify_program(program)
            return vars(Linked(program, plan, verify))
        super().__init__(find, program=program, plan=plan, verify=verify, **needs)
