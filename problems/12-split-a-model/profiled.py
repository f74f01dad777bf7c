"""One way's steps under a profiler: rank 0 says before each whether one more comes."""

from collections.abc import Callable
from typing import Any

from study import gradients_where
from ways import WAYS
from work import Work
from world import World


def run(cell: Any, world: World) -> None:
    """Run the step that the variant names; every rank calls it."""
    params = cell.params
    work = Work.of(params | params["works"][params["work_name"]], world.device)
    with cell.phase("build"):
        way = WAYS[params["way"]](work, world, world.mesh)
    with gradients_where(trains=work.trains):
        if world.rank == 0:
            cell.measure("step", beginning(world, way.step))
            world.says_more(more=False)
        else:
            while world.says_more():
                way.step()


def beginning(world: World, step: Callable[[], object]) -> Callable[[], object]:
    """Return a step that all ranks begin together."""

    def begun() -> object:
        world.says_more(more=True)
        return step()

    return begun
