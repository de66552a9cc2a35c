"""What a task says of its data on the way."""

from rich.console import Console


def say(text: str) -> None:
    """A line of what was found in the data."""
    Console(highlight=False, markup=False, soft_wrap=True).print(f"  {text}")
