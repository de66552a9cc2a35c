"""Blocks of generated data, drawn by several processes and handed out in order."""

import multiprocessing
from collections import deque
from collections.abc import Callable, Generator
from concurrent.futures import ProcessPoolExecutor
from itertools import count
from typing import TypeVar

Block = TypeVar("Block")


def blocks(draw: Callable[[int], Block], processes: int) -> Generator[Block, None, None]:
    """Yields ``draw(0)``, ``draw(1)``, ... in order, without end; close it to stop the processes.

    draw: must be picklable if there are processes beside this one, that is, with ``processes`` above 1.
    """
    if processes == 1:
        for number in count():
            yield draw(number)
    pool = ProcessPoolExecutor(processes, multiprocessing.get_context("spawn"))
    try:
        ahead = deque(pool.submit(draw, number) for number in range(2 * processes))
        for number in count(len(ahead)):
            yield ahead.popleft().result()
            ahead.append(pool.submit(draw, number))
    finally:
        pool.shutdown(cancel_futures=True)
