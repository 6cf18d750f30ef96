"""Final state of an answer: who is placed runs, and only those in question wait.

Its nodes are as the answer leaves them: who runs there, who came, and what is left (G7).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from placer.search.baseline import StartingAccounts, placed_pods_as_running, starting_accounts_of
from placer.search.budget import SolveBudget
from placer.search.options import Engine, SolveOptions
from placer.search.reasons.stages import NodesAtOccupancyStage, nodes_at_occupancy_stages
from placer.search.solver import solve
from placer_models.cluster import Instance, RunningGang, with_only_gangs
from placer_models.placement import PartlyPlaced, Placed, Placement
from placer_models.pod import Gang


def instance_after_answer(
    instance: Instance, placement: Placement, gangs: Sequence[Gang]
) -> Instance:
    """Return the instance in which the answer has come true, and only these gangs wait.

    Running pods that the answer moves are in their new places. Nobody may move any more.

    Args:
        instance: The instance that was solved.
        placement: The answer to it.
        gangs: Gangs of the instance, none of whose members the answer places.

    """
    place_of = {place.key: place for place in placement.pods}
    moved = tuple(
        replace(one, placement=place_of[one.pod.key]) if one.pod.key in place_of else one
        for one in instance.running
    )
    came = placed_pods_as_running(instance.gangs, place_of)
    running_gangs = {gang.key for gang in instance.running_gangs}
    more = tuple(
        RunningGang(gang.name, gang.namespace, gang.gather, gang.levels)
        for gang in instance.gangs
        if (gang.gather or gang.levels)
        and gang.key not in running_gangs
        and any(pod.key in place_of for pod in gang.pods)
    )
    settled = replace(
        instance,
        running=(*moved, *came) if place_of else instance.running,
        running_gangs=(*instance.running_gangs, *more),
        move_budget=0,
        left_out=(),
    )
    return with_only_gangs(settled, gangs)


@dataclass(frozen=True, slots=True)
class NodesAfterAnswer:
    """The nodes of an instance once an answer has come true.

    Attributes:
        instance: The instance, with running pods that the answer moves where they go.
        placement: Where the pods that waited are placed.
        before: The nodes without these, counted.

    """

    instance: Instance
    placement: Placement
    before: StartingAccounts

    @classmethod
    def of(cls, instance: Instance, placement: Placement) -> "NodesAfterAnswer":
        """Return the nodes after an answer to an instance."""
        place_of = {place.key: place for place in placement.pods}
        running = tuple(
            replace(one, placement=place_of.pop(one.pod.key)) if one.pod.key in place_of else one
            for one in instance.running
        )
        settled = replace(instance, running=running, move_budget=0)
        return cls(settled, Placement(tuple(place_of.values())), starting_accounts_of(settled))

    def stage(self, more: Placement, budget: SolveBudget) -> NodesAtOccupancyStage:
        """Return the nodes with what is placed, and with some more pods that waited.

        Raises:
            OutOfTimeError: The budget is spent.

        """
        placement = Placement((*self.placement.pods, *more.pods))
        *_, last = nodes_at_occupancy_stages(
            self.instance, self.instance, self.before, placement, budget
        )
        return last

    def members_that_fit(self, gang: Gang, seconds: float) -> Placement:
        """Return places for as many members of a gang as fit beside what is placed."""
        some = replace(gang, minimum=1)
        gangs = tuple(some if one.key == gang.key else one for one in self.instance.gangs)
        world = instance_after_answer(replace(self.instance, gangs=gangs), self.placement, [some])
        answer = solve(world, SolveOptions(Engine.GREEDY, time_limit_s=max(0.001, seconds)))
        return answer.placement if isinstance(answer, Placed | PartlyPlaced) else Placement()
