"""Language modelling on whole books."""

from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from longdoc.tasks.books import Books
from longdoc.tasks.cache import UNLABELLED, save_documents


class NextToken(Books):
    """The books' tokens; a token's label is the one after it, and the classes are the vocabulary.

    The last token of a window is labelled by the next one in its book; the last of a book has no label. It takes
    attention that is causal: others see the label.
    """

    name = "next_token"
    token_labels = True
    causal_only = True

    def learn(self) -> dict[str, Any]:
        state = self.learn_tokenizer()
        tokenizer = Tokenizer.from_str(state["tokenizer"])
        return state | {"classes": [tokenizer.id_to_token(i) for i in range(state["vocab_size"])]}

    def _encode(self, split: str, folder: Path) -> None:
        ids = list(self.ids(split))
        following = [np.append(row[1:].astype(np.int64), UNLABELLED)[: len(row)] for row in ids]
        save_documents(folder / "documents", ids, following, self.vocab_size)
