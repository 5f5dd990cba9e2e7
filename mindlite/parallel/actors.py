"""Pipelines as actors: registers with credits are the schedule (Yuan et al. 2021, section 4; 1F1B is Narayanan et al. 2019).

    plan = pipeline(stages=4, micro=8)       F0 -a0-> F1 -a1-> F2 ..        each Fs -s-> Bs keeps its activations in a register
    plan.simulate().peaks["s0"]              4: stage s has S - s credits, so it runs S - s micro-batches ahead and no more

An actor acts when each register that it takes from has something, and each that it gives to has room; then it gives the credits
of what it took back to their producers. Actors of one stage share one stream: the later in the list goes first, so a backward
goes before a forward. A plan is data: it is written as JSON, simulated before it runs (which finds deadlocks), and its order is
what ranks run.
"""
import dataclasses
import json
from collections import deque
from dataclasses import field

from ..common.errors import ArgumentError, ValueRangeError
from ..common.records import dataclass


@dataclass(frozen=True)
class Actor:
    """Something that a stage does `times` times. takes, gives: names of registers; seconds: of one action, in a simulation."""
    name: str
    stage: int
    takes: tuple
    gives: tuple
    times: int
    seconds: float = 1.0


@dataclass(frozen=True)
class Register:
    """What lies between two actors: at most `credits` items, each held from the producer's start to the end of its consumer."""
    name: str
    credits: int


@dataclass
class Simulation:
    """What happened: seconds in all; order: for each stage [(actor, its number)]; peaks: {register: most items at one time};
    busy: {stage: seconds}. It is a simulation, never a measurement: as JSON it says so."""
    seconds: float = 0.0
    order: dict = field(default_factory=dict)
    peaks: dict = field(default_factory=dict)
    busy: dict = field(default_factory=dict)
    simulated = True

    @property
    def bubble(self):
        """The share of time in which a stage waits, of the stage that is busiest."""
        return 1 - max(self.busy.values()) / self.seconds


@dataclass(frozen=True)
class ActorPlan:
    """Actors and the registers between them."""
    actors: tuple
    registers: tuple

    def to_json(self):
        """The plan as JSON text."""
        return json.dumps({"actors": [dataclasses.asdict(actor) for actor in self.actors],
                           "registers": [dataclasses.asdict(register) for register in self.registers]}, indent=1)

    @staticmethod
    def from_json(text):
        """The plan of `to_json`. raises : ValueError, KeyError, TypeError for other text"""
        described = json.loads(text)
        actors = [Actor(**{**actor, "takes": tuple(actor["takes"]), "gives": tuple(actor["gives"])})
                  for actor in described["actors"]]
        return ActorPlan(tuple(actors), tuple([Register(**register) for register in described["registers"]]))

    def simulate(self):
        """Run it without computing anything: a Simulation. raises : ValueRangeError where no actor can act and work is left"""
        credits = {register.name: register.credits for register in self.registers}
        for actor in self.actors:
            unknown = [name for name in (*actor.takes, *actor.gives) if name not in credits]
            if unknown:
                raise ArgumentError(f"the actor {actor.name} uses the register {unknown[0]!r}, which is none")
        ready = {name: deque[float]() for name in credits}                               # times from which items are there
        free = {name: deque([0.0] * count) for name, count in credits.items()}           # times from which there is room
        done, found = {actor.name: 0 for actor in self.actors}, Simulation()
        found.peaks = dict.fromkeys(credits, 0)
        stages = sorted({actor.stage for actor in self.actors})
        clock = dict.fromkeys(stages, 0.0)
        found.order, found.busy = {stage: [] for stage in stages}, dict.fromkeys(stages, 0.0)
        spans: dict = {name: [] for name in credits}
        while True:
            able = [(max([clock[a.stage], *[ready[n][0] for n in a.takes], *[free[n][0] for n in a.gives]]), -position, a)
                    for position, a in enumerate(self.actors)
                    if done[a.name] < a.times and all(ready[n] for n in a.takes) and all(free[n] for n in a.gives)]
            if not able:
                break
            start, _, actor = min(able, key=lambda entry: entry[:2])
            end = start + actor.seconds
            for name in actor.takes:
                ready[name].popleft()
                free[name].append(end)
                spans[name].append((end, -1))
            for name in actor.gives:
                free[name].popleft()
                ready[name].append(end)
                spans[name].append((start, 1))
            found.order[actor.stage].append((actor.name, done[actor.name]))
            done[actor.name] += 1
            clock[actor.stage], found.busy[actor.stage] = end, found.busy[actor.stage] + actor.seconds
            found.seconds = max(found.seconds, end)
        left = [f"{a.name} ({done[a.name]} of {a.times})" for a in self.actors if done[a.name] < a.times]
        if left:
            full = ", ".join(f"{name} {count}" for name, count in credits.items() if not free[name])
            raise ValueRangeError(f"a deadlock: {', '.join(left)} wait for each other",
                                  hint=f"a register needs more credits: {full}")
        for name, changes in spans.items():
            level = 0
            for _, change in sorted(changes):
                level += change
                found.peaks[name] = max(found.peaks[name], level)
        return found


SCHEDULES: dict = {"1f1b": lambda stages, micro, stage: stages - stage, "gpipe": lambda stages, micro, stage: micro,
             "serial": lambda stages, micro, stage: 1}


def pipeline(stages, micro, schedule="1f1b", forward=1.0, backward=1.0):
    """The ActorPlan of a pipeline: for stage s a forward Fs and a backward Bs; as s activations wait for their backward.

    stages, micro     : how many stages and micro-batches       schedule: "1f1b", "gpipe", "serial", or the credits of each stage
    forward, backward : seconds of one, in a simulation
    raises            : ValueRangeError
    """
    if stages < 1 or micro < 1:
        raise ValueRangeError(f"pipeline: {stages} stages and {micro} micro-batches")
    if isinstance(schedule, str) and schedule not in SCHEDULES:
        raise ValueRangeError(f"pipeline: schedule is one of {', '.join(SCHEDULES)} or a tuple of credits, not {schedule!r}")
    credits = [SCHEDULES[schedule](stages, micro, s) for s in range(stages)] if isinstance(schedule, str) else list(schedule)
    if len(credits) != stages or any(count < 1 for count in credits):
        raise ValueRangeError(f"pipeline: {stages} positive numbers of credits are wanted, not {schedule!r}")
    registers = [Register(f"s{s}", credits[s]) for s in range(stages)]
    registers += [Register(f"{kind}{s}", 2) for s in range(stages - 1) for kind in ("a", "g")]
    actors = []
    for s in range(stages):
        first, last = s == 0, s == stages - 1
        takes, gives = () if first else (f"a{s - 1}",), (f"s{s}",) if last else (f"s{s}", f"a{s}")
        actors.append(Actor(f"F{s}", s, takes, gives, micro, forward))
    for s in range(stages):
        first, last = s == 0, s == stages - 1
        needs, makes = (f"s{s}",) if last else (f"s{s}", f"g{s}"), () if first else (f"g{s - 1}",)
        actors.append(Actor(f"B{s}", s, needs, makes, micro, backward))
    return ActorPlan(tuple(actors), tuple(registers))
