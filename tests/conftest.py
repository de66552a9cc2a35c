"""What every test starts from."""

import pytest
import torch

# Tests compute little: a second thread would mostly wait, for milliseconds an operation on a busy machine.
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """A test's random numbers are its own, whichever tests ran before it."""
    torch.manual_seed(0)
