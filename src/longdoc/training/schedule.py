"""Learning rate against progress."""

import math


class WarmupCosine:
    """Linear warm-up over optimizer steps, then a cosine over the run's progress down to ``minimum``.

    Called with the number of optimizer steps done and the share 0..1 of the budget used; returns the factor of the
    peak learning rate. The cosine follows progress, not steps, so that it ends at its minimum whichever of time,
    steps and epochs ends the run.
    """

    def __init__(self, warmup_steps: int = 0, minimum: float = 0.0) -> None:
        if warmup_steps < 0 or not 0 <= minimum <= 1:
            raise ValueError(f"scheduler: warmup_steps={warmup_steps} must be >= 0 and minimum={minimum} within 0..1")
        self.warmup_steps = warmup_steps
        self.minimum = minimum

    def __call__(self, step: int, progress: float) -> float:
        cosine = self.minimum + (1 - self.minimum) * (1 + math.cos(math.pi * min(progress, 1.0))) / 2
        return cosine * min(1.0, (step + 1) / (self.warmup_steps + 1))
