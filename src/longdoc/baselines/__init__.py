"""What an encoder of long documents has to beat. Knows no task and no model: texts and labels in, logits out."""

from longdoc.baselines.base import Baseline, Labels, Texts
from longdoc.baselines.counts import NoTermsError
from longdoc.baselines.embeddings import Embeddings
from longdoc.baselines.majority import Majority
from longdoc.baselines.tfidf import TfIdf

__all__ = ["Baseline", "Embeddings", "Labels", "Majority", "NoTermsError", "Texts", "TfIdf"]
