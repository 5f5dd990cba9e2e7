"""Pipelines as actors: registers with credits are the schedule (Yuan et al. 2021, section 4; 1F1B is Narayanan et al. 2019).

    plan = pipeline(stages=4, micro=8)       F0 -a0-> F1 -a1-> F2 ..        each Fs -s-> Bs keeps its activations in a register
    plan.simulate().peaks["s0"]              4: stage s has S - s credits, so it runs S - s micro-batches ahead and no more

An actor acts when each register that it takes from has something, and each that it gives to has room; then it gives the credits
of what it took back to their producers. Actors of one stage share one stream: the later in the list goes first, so a backward
goes before a forward. A plan is data: it is written as JSON, simulated before it runs (which finds deadlocks), and its order is
what ranks run.
"""
import dataclasses
import heapq
import json
import math
from collections import deque
from dataclasses import field

from ..common.errors import ArgumentError, ValueRangeError
from ..common.records import dataclass


@dataclass(frozen=True)
class Actor:
    """Something that a stage does `times` times.

    takes, gives : names of registers       seconds: of one action, in a simulation
    stream       : actors of one stage and stream act one after the other, those of different streams beside each other
    meets        : actors with the same word act together, when all can: a collective. "": alone
    items        : how many items of each register it takes at once
    """
    name: str
    stage: int
    takes: tuple
    gives: tuple
    times: int
    seconds: float = 1.0
    stream: str = "compute"
    meets: str = ""
    items: int = 1


@dataclass(frozen=True)
class Register:
    """What lies between two actors: at most `credits` items, each held from the producer's start to the end of its consumer;
    nbytes: of an item, which travels where the two are on different stages."""
    name: str
    credits: int
    nbytes: int = 0


@dataclass
class Simulation:
    """What happened: seconds in all; order: for each stage [(actor, its number)]; peaks: {register: most items at one time};
    busy: {stage: seconds of its stream "compute"}. It is a simulation, never a measurement: as JSON it says so."""
    seconds: float = 0.0
    order: dict = field(default_factory=dict)
    peaks: dict = field(default_factory=dict)
    busy: dict = field(default_factory=dict)
    simulated = True

    @property
    def bubble(self):
        """The share of time in which a stage waits, of the stage that is busiest."""
        return 1 - max(self.busy.values()) / self.seconds

    def to_json(self):
        """The figures as JSON text, marked as simulated."""
        return json.dumps({"simulated": True, "seconds": self.seconds, "bubble": self.bubble, "peaks": self.peaks,
                           "busy": {str(stage): seconds for stage, seconds in self.busy.items()}}, indent=1)


@dataclass(frozen=True)
class ActorPlan:
    """Actors and the registers between them. turns: {stage: names of actors} where the stream "compute" acts in that order; of
    other stages whoever can acts."""
    actors: tuple
    registers: tuple
    turns: dict = field(default_factory=dict)

    def to_json(self):
        """The plan as JSON text."""
        return json.dumps({"actors": [dataclasses.asdict(actor) for actor in self.actors],
                           "registers": [dataclasses.asdict(register) for register in self.registers],
                           "turns": {str(stage): list(names) for stage, names in self.turns.items()}}, indent=1)

    @staticmethod
    def from_json(text):
        """The plan of `to_json`. raises : ValueError, KeyError, TypeError for other text"""
        described = json.loads(text)
        actors = [Actor(**{**actor, "takes": tuple(actor["takes"]), "gives": tuple(actor["gives"])})
                  for actor in described["actors"]]
        turns = {int(stage): tuple(names) for stage, names in described["turns"].items()}
        return ActorPlan(tuple(actors), tuple([Register(**register) for register in described["registers"]]), turns)

    def simulate(self, transfer=None):
        """Run it without computing anything: a Simulation.

        transfer : (stage, stage, bytes) -> seconds that an item travels between two stages; None: it is there at once
        raises   : ValueRangeError where no actor can act and work is left
        """
        return _Run(self, transfer or (lambda source, to, nbytes: 0.0)).run()


class _Run:
    """The events of one simulation. An actor is looked at again when a register of its own changes, so an event costs the
    logarithm of how many there are.

    waiting : a heap of (earliest start, -number) of actors that may act, one entry for each; it may be too early, never too late
    """

    def __init__(self, plan, transfer):
        self.plan, self.transfer, self.actors = plan, transfer, plan.actors
        self.registers = {register.name: register for register in plan.registers}
        for actor in self.actors:
            unknown = [name for name in (*actor.takes, *actor.gives) if name not in self.registers]
            if unknown:
                raise ArgumentError(f"the actor {actor.name} uses the register {unknown[0]!r}, which is none")
        self.ready = {name: deque[float]() for name in self.registers}       # times from which items are there
        self.free = {name: deque([0.0] * register.credits) for name, register in self.registers.items()}
        self.takers: dict = {}                                               # {register: numbers of actors}
        self.givers: dict = {}
        self.members: dict = {}                                              # {word of a meeting: numbers of actors}
        for number, actor in enumerate(self.actors):
            for table, names in ((self.takers, actor.takes), (self.givers, actor.gives), (self.members, (actor.meets,))):
                for name in names:
                    table.setdefault(name, []).append(number)
        self.clock = dict.fromkeys([(actor.stage, actor.stream) for actor in self.actors], 0.0)
        self.links: dict = {}                                                # {(stage, stage): when it is free}
        self.done, self.queued = [0] * len(self.actors), [False] * len(self.actors)
        self.arrived: dict = {}
        self.waiting: list = []
        self.numbers = {actor.name: number for number, actor in enumerate(self.actors)}
        self.turn = dict.fromkeys(plan.turns, 0)
        self.of_stream: dict = {}
        for number, actor in enumerate(self.actors):
            self.of_stream.setdefault((actor.stage, actor.stream), []).append(number)
        stages = sorted({actor.stage for actor in self.actors})
        self.found = Simulation(order={stage: [] for stage in stages}, peaks=dict.fromkeys(self.registers, 0),
                                busy=dict.fromkeys(stages, 0.0))
        self.spans: dict = {name: [] for name in self.registers}

    def run(self):
        for number in range(len(self.actors)):
            self.look(number)
        while self.waiting:
            start, back = heapq.heappop(self.waiting)
            self.queued[-back] = False
            if self.earliest(-back) == start:
                self.start(-back, start)
            else:
                self.look(-back)
        self.check()
        for name, changes in self.spans.items():
            level = 0
            for _, change in sorted(changes):
                level += change
                self.found.peaks[name] = max(self.found.peaks[name], level)
        return self.found

    def look(self, number):
        """Put an actor on the heap if it may act. The later in the list goes first of those that start at one time."""
        earliest = None if self.queued[number] else self.earliest(number)
        if earliest is not None and earliest < math.inf:     # what waits behind a meeting is looked at again when it is over
            heapq.heappush(self.waiting, (earliest, -number))
            self.queued[number] = True

    def earliest(self, number):
        """When an actor may begin; None while it may not."""
        actor = self.actors[number]
        if actor.stage in self.turn and actor.stream == "compute" and self.next(actor.stage) != number:
            return None
        if self.done[number] >= actor.times or number in self.arrived.get(actor.meets, ()) or not all(
                len(self.ready[name]) >= actor.items for name in actor.takes) or not all(self.free[name] for name in actor.gives):
            return None
        return max([self.clock[actor.stage, actor.stream], *[self.ready[name][actor.items - 1] for name in actor.takes],
                    *[self.free[name][0] for name in actor.gives]])

    def next(self, stage):
        """The number of the actor whose turn it is; None behind the last one."""
        names, turn = self.plan.turns[stage], self.turn[stage]
        return self.numbers[names[turn]] if turn < len(names) else None

    def start(self, number, start):
        """An actor begins; one that meets others waits for them, and its stream with it."""
        actor = self.actors[number]
        if not actor.meets:
            self.act(number, start)
            return
        there = self.arrived.setdefault(actor.meets, {})
        there[number] = start
        self.clock[actor.stage, actor.stream] = math.inf
        if len(there) == len(self.members[actor.meets]):
            begin = max(there.values())
            del self.arrived[actor.meets]
            for member in there:
                self.act(member, begin)
            for member in there:
                for other in self.of_stream[self.actors[member].stage, self.actors[member].stream]:
                    self.look(other)

    def act(self, number, start):
        """One action, from `start` on: items and credits change hands at its end."""
        actor = self.actors[number]
        end = start + actor.seconds
        for name in [name for name in actor.takes for _ in range(actor.items)]:
            self.ready[name].popleft()
            self.free[name].append(end)
            self.spans[name].append((end, -1))
        for name in actor.gives:
            self.free[name].popleft()
            self.ready[name].append(self.travelled(name, actor.stage, end))
            self.spans[name].append((start, 1))
        self.found.order[actor.stage].append((actor.name, self.done[number]))
        self.done[number] += 1
        self.clock[actor.stage, actor.stream] = end
        self.found.busy[actor.stage] += actor.seconds if actor.stream == "compute" else 0.0
        self.found.seconds = max(self.found.seconds, end)
        if actor.stage in self.turn and actor.stream == "compute":
            self.turn[actor.stage] += 1
            if self.next(actor.stage) is not None:
                self.look(self.next(actor.stage))
        for other in {number, *[n for name in actor.takes for n in self.givers.get(name, ())],
                      *[n for name in actor.gives for n in self.takers.get(name, ())]}:
            self.look(other)

    def travelled(self, name, source, end):
        """When an item of a register is where it is taken; items on one link go one behind the other."""
        takers = self.takers.get(name, ())
        to, nbytes = (self.actors[takers[0]].stage if takers else source), self.registers[name].nbytes
        if to == source or not nbytes:
            return end
        begin = max(end, self.links.get((source, to), 0.0))
        self.links[source, to] = begin + self.transfer(source, to, nbytes)
        return self.links[source, to]

    def check(self):
        """raises : ValueRangeError where work is left."""
        left = [f"{a.name} ({self.done[n]} of {a.times})" for n, a in enumerate(self.actors) if self.done[n] < a.times]
        if left:
            full = ", ".join(f"{name} {register.credits}" for name, register in self.registers.items() if not self.free[name])
            raise ValueRangeError(f"a deadlock: {', '.join(left)} wait for each other",
                                  hint=f"a register needs more credits: {full}")


SCHEDULES: dict = {"1f1b": lambda stages, micro, stage: stages - stage, "gpipe": lambda stages, micro, stage: micro,
             "serial": lambda stages, micro, stage: 1}


def pipeline(stages, micro, schedule="1f1b", forward=1.0, backward=1.0, replicas=1, chunks=1, reduce=0.0, nbytes=0):
    """The ActorPlan of a pipeline: for each piece k of the network a forward Fk and a backward Bk; as sk activations wait for
    their backward.

    stages, micro     : how many stages and micro-batches       schedule: "1f1b", "gpipe", "serial", or the credits of each piece
    chunks            : pieces of each stage: stage s has the pieces s, s + stages, ..; more than one is the interleaved schedule
    replicas          : how often the pipeline is there; replica r of stage s is the rank s * replicas + r, and Rs sums gradients
                        of the replicas when the last backward is done
    forward, backward : seconds of one, or of one of each piece, in a simulation       reduce: seconds of an R
    nbytes            : of what goes from piece to piece
    raises            : ValueRangeError
    """
    pieces = stages * chunks
    if stages < 1 or micro < 1 or replicas < 1 or chunks < 1:
        raise ValueRangeError(f"pipeline: {stages} stages of {chunks} pieces, {replicas} times, and {micro} micro-batches")
    if isinstance(schedule, str) and schedule not in SCHEDULES:
        raise ValueRangeError(f"pipeline: schedule is one of {', '.join(SCHEDULES)} or a tuple of credits, not {schedule!r}")
    if chunks > 1 and schedule == "1f1b":
        return _interleaved(stages, micro, forward, backward, replicas, chunks, reduce, nbytes)
    credits = [SCHEDULES[schedule](pieces, micro, k) for k in range(pieces)] if isinstance(schedule, str) else list(schedule)
    if len(credits) != pieces or any(count < 1 for count in credits):
        raise ValueRangeError(f"pipeline: {pieces} positive numbers of credits are wanted, not {schedule!r}")
    ahead, back = [list(s) if isinstance(s, (list, tuple)) else [s] * pieces for s in (forward, backward)]
    registers, actors = [], []
    for replica in range(replicas):
        end = f".{replica}" if replicas > 1 else ""
        registers += [Register(f"s{k}{end}", credits[k]) for k in range(pieces)]
        registers += [Register(f"{kind}{k}{end}", 2, nbytes) for k in range(pieces - 1) for kind in ("a", "g")]
        made: tuple = ([], [])
        for k in range(pieces):
            rank, first, last = k % stages * replicas + replica, k == 0, k == pieces - 1
            makes = (f"s{k}{end}",) if last else (f"s{k}{end}", f"a{k}{end}")
            made[0].append(Actor(f"F{k}{end}", rank, () if first else (f"a{k - 1}{end}",), makes, micro, ahead[k]))
            needs, sums = (f"s{k}{end}",) if last else (f"s{k}{end}", f"g{k}{end}"), (f"d{k}{end}",) if replicas > 1 else ()
            made[1].append(Actor(f"B{k}{end}", rank, needs, (*(() if first else (f"g{k - 1}{end}",)), *sums), micro, back[k]))
        actors += [*made[0], *made[1]]
        if replicas > 1:
            registers += [Register(f"d{k}{end}", micro) for k in range(pieces)]
            actors += [Actor(f"R{s}{end}", s * replicas + replica, tuple([f"d{k}{end}" for k in range(s, pieces, stages)]), (), 1,
                             reduce, meets=f"R{s}", items=micro) for s in range(stages)]
    return ActorPlan(tuple(actors), tuple(registers))


def _interleaved(stages, micro, forward, backward, replicas, chunks, reduce, nbytes):
    """`pipeline` in the order of Narayanan et al. 2021, section 2.2: forwards of `stages` micro-batches of one piece, then of the
    next piece; registers have the credits that this order uses. raises : ValueRangeError where micro is no multiple of stages"""
    if micro % stages:
        raise ValueRangeError(f"pipeline: {micro} micro-batches do not go in rounds of {stages} stages", hint="chunks=1")
    free = pipeline(stages, micro, (micro,) * (stages * chunks), forward, backward, replicas, chunks, reduce, nbytes)
    turns: dict = {}
    for rank in range(stages * replicas):
        stage, end = rank // replicas, f".{rank % replicas}" if replicas > 1 else ""
        pieces = [stage + stages * ((k % (stages * chunks)) // stages) for k in range(micro * chunks)]
        ahead = [f"F{piece}{end}" for piece in pieces]
        back = [f"B{2 * stage + stages * (chunks - 1) - piece}{end}" for piece in pieces]
        first = min(2 * (stages - stage - 1) + (chunks - 1) * stages, len(ahead))
        both = [name for pair in zip(ahead[first:], back) for name in pair]
        turns[rank] = (*ahead[:first], *both, *back[len(ahead) - first:], *([f"R{stage}{end}"] if replicas > 1 else []))
    registers = [dataclasses.replace(r, credits=micro) for r in free.registers]
    peaks = ActorPlan(free.actors, tuple(registers), turns).simulate().peaks
    registers = [dataclasses.replace(r, credits=max(peaks[r.name], 1)) for r in registers]
    return ActorPlan(free.actors, tuple(registers), turns)
