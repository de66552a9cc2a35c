"""Learning rate against progress.

A schedule is called with the number of optimizer steps done and the share 0..1 of the budget used; it returns the
factor of ``optimizer.lr``. What falls follows progress, not steps, so that it is at its minimum at the end, whichever
of time, steps, epochs and tokens ends the run.
"""

import math
from abc import ABC, abstractmethod


class Schedule(ABC):
    """Linear warm-up over ``warmup_steps`` optimizer steps, from ``start`` of the peak on."""

    def __init__(self, warmup_steps: int = 0, start: float = 0.0) -> None:
        if warmup_steps < 0 or not 0 <= start <= 1:
            raise ValueError(f"scheduler: warmup_steps={warmup_steps} must be >= 0 and start={start} within 0..1")
        self.warmup_steps = warmup_steps
        self.start = start

    def __call__(self, step: int, progress: float) -> float:
        warm = min(1.0, (step + 1) / (self.warmup_steps + 1))
        progress = min(progress, 1.0)
        # What falls begins to when the warm-up is over, at this share of the budget by the pace so far.
        over = self.warmup_steps * progress / max(step, 1)
        left = (progress - over) / (1 - over) if progress > over else 0.0
        return (self.start + (1 - self.start) * warm) * self.after(step, left)

    @abstractmethod
    def after(self, step: int, progress: float) -> float:
        """The factor without the warm-up; ``progress`` 0..1 from its end on."""


class _Falling(Schedule):
    """Down to ``minimum`` of the peak at the end of the budget."""

    def __init__(self, warmup_steps: int = 0, start: float = 0.0, minimum: float = 0.0) -> None:
        super().__init__(warmup_steps, start)
        if not 0 <= minimum <= 1:
            raise ValueError(f"scheduler: minimum={minimum} must be within 0..1")
        self.minimum = minimum


class WarmupCosine(_Falling):
    """Warm-up, then half a cosine over the run's progress."""

    def after(self, step: int, progress: float) -> float:
        return self.minimum + (1 - self.minimum) * (1 + math.cos(math.pi * progress)) / 2


class WarmupLinear(_Falling):
    """Warm-up, then a straight line over the run's progress."""

    def after(self, step: int, progress: float) -> float:
        return self.minimum + (1 - self.minimum) * (1 - progress)


class WarmupRsqrt(Schedule):
    """Warm-up, then 1 / sqrt(step), on from 1 / sqrt(warmup_steps) (Vaswani et al. 2017, section 5.3; as LRA has it).

    ``optimizer.lr`` is thus not the peak but what the peak would be after one step of warm-up.
    """

    def after(self, step: int, progress: float) -> float:
        return 1 / math.sqrt(max(step + 1, self.warmup_steps))
