"""From ids to vectors: a table, or the gray level that an id stands for."""

from torch import Tensor, nn

INPUTS = ("tokens", "values")
MEAN, STD = 0.48, 0.24  # of CIFAR-10's gray levels on 0..1, as Mega's configuration for LRA has them


class GrayLevels(nn.Module):
    """Ids 1..256 as gray levels 0..255 through a linear layer, as S4 and Mega read LRA's images.

    LRA itself gives each level a vector of its own, which knows nothing of brighter and darker: another protocol.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.linear = nn.Linear(1, width)
        # Of the size of other embeddings; without a bias a norm would leave no more of the level than its sign.
        nn.init.normal_(self.linear.weight, std=0.02)
        nn.init.normal_(self.linear.bias, std=0.02)

    def forward(self, ids: Tensor) -> Tensor:
        """ids (B, N) -> (B, N, M)."""
        level = (ids - 1).to(self.linear.weight.dtype) / 255
        return self.linear(((level - MEAN) / STD)[..., None])


def token_inputs(kind: str, vocab_size: int, width: int) -> nn.Module:
    """The module that ``encoder.inputs`` names."""
    if kind not in INPUTS:
        raise ValueError(f"encoder.inputs={kind} is not one of {', '.join(INPUTS)}")
    if kind == "values":
        if vocab_size != 257:
            raise ValueError(
                f"encoder.inputs=values takes ids for gray levels, 257 with padding; this task has {vocab_size}: "
                f"choose encoder.inputs=tokens"
            )
        return GrayLevels(width)
    table = nn.Embedding(vocab_size, width)
    nn.init.normal_(table.weight, std=0.02)
    return table
