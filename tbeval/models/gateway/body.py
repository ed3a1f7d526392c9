"""Read the body of an answer, within bounds of time and memory."""

import asyncio
from dataclasses import dataclass

import aiohttp

#: A body beyond this is no model's answer.
LARGEST_BODY = 64 * 2**20
#: All bodies that are being read together; a body of no more than its share is read all the same.
LARGEST_TOGETHER = 512 * 2**20
SHARE = 4 * 2**20
#: Longest silence after an answer has begun: it comes in one piece, or token by token; engines that
#: run out of cache may set a stream aside for a while.
STALL_SEC = 300.0


class TooMuchError(Exception):
    """The endpoint sends more than any answer has."""


@dataclass
class Memory:
    """What the calls of a gateway hold at the moment, in bytes."""

    held: int = 0


async def read_body(response: aiohttp.ClientResponse, memory: Memory) -> bytes:
    """The whole body.

    Args:
        response: As begun.
        memory: Shared by all calls that may run at once.

    Raises:
        TooMuchError: It is larger than an answer, or all that are read now are too much together
            and this one is large.
        TimeoutError: It stopped in the middle.
    """
    parts: list[bytes] = []
    size = 0
    clock = asyncio.get_running_loop().time
    try:
        async with asyncio.timeout(None) as stall:
            async for part in response.content.iter_any():
                stall.reschedule(clock() + STALL_SEC)
                parts.append(part)
                size += len(part)
                memory.held += len(part)
                if size > LARGEST_BODY:
                    raise TooMuchError(f"an answer of more than {LARGEST_BODY >> 20} MB")
                if memory.held > LARGEST_TOGETHER and size > SHARE:
                    raise TooMuchError(
                        f"an answer of {size >> 20} MB and more, while all answers together have "
                        f"more than {LARGEST_TOGETHER >> 20} MB"
                    )
        return b"".join(parts)
    finally:
        memory.held -= size
