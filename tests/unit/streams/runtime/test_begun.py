"""A coroutine of which the first step is made without a task."""

import asyncio

import pytest

from streams.runtime.begun import Begun


async def at_once() -> str:
    return "here"


def test_what_needs_no_waiting_is_done_at_once():
    async def live() -> None:
        begun = Begun(at_once())
        assert begun.done
        assert begun.result == "here"
        assert await begun == "here"

    asyncio.run(live())


def test_what_waits_goes_on_where_it_was():
    async def live() -> None:
        gate, steps = asyncio.Event(), []

        async def waiting() -> str:
            steps.append("begun")
            await gate.wait()
            await asyncio.sleep(0)
            steps.append("ended")
            return "late"

        begun = Begun(waiting())
        assert (begun.done, steps) == (False, ["begun"])
        task = asyncio.ensure_future(begun)
        await asyncio.sleep(0)
        gate.set()
        assert await task == "late"
        assert steps == ["begun", "ended"]

    asyncio.run(live())


def test_what_it_raises_is_raised_at_its_first_step_or_later():
    async def live() -> None:
        async def wrong() -> None:
            raise LookupError

        async def wrong_later() -> None:
            await asyncio.sleep(0)
            raise LookupError

        with pytest.raises(LookupError):
            Begun(wrong())
        with pytest.raises(LookupError):
            await Begun(wrong_later())

    asyncio.run(live())


def test_it_is_cancelled_where_it_waits():
    async def live() -> None:
        cleaned = []

        async def waiting() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                cleaned.append("up")

        task = asyncio.ensure_future(Begun(waiting()))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert cleaned == ["up"]

    asyncio.run(live())


def test_it_may_swallow_what_is_thrown_in_and_go_on():
    async def live() -> None:
        async def stubborn() -> str:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await asyncio.sleep(0)
            return "anyway"

        task = asyncio.ensure_future(Begun(stubborn()))
        await asyncio.sleep(0)
        task.cancel()
        assert await task == "anyway"

    asyncio.run(live())
