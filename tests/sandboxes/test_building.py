"""Builds have a limit of their own."""

import asyncio

from tbeval.sandboxes.building import build_slot, builds_at_once


class Builds:
    def __init__(self) -> None:
        self.now = self.most = 0

    async def one(self) -> None:
        async with build_slot():
            self.now += 1
            self.most = max(self.most, self.now)
            for _ in range(5):
                await asyncio.sleep(0)
            self.now -= 1


async def test_no_more_build_at_once_than_allowed_whoever_starts_them() -> None:
    builds = Builds()
    with builds_at_once(2):
        await asyncio.gather(*(builds.one() for _ in range(7)))
    assert (builds.most, builds.now) == (2, 0)


async def test_one_that_fails_or_is_cancelled_gives_its_turn_back() -> None:
    async def hold() -> None:
        async with build_slot():
            await asyncio.Event().wait()

    builds = Builds()
    with builds_at_once(1):
        task = asyncio.create_task(hold())
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.wait_for(builds.one(), 10)
    assert builds.most == 1


async def test_nothing_is_limited_outside_of_a_run() -> None:
    builds = Builds()
    await asyncio.gather(*(builds.one() for _ in range(7)))
    assert builds.most == 7
