"""TF-IDF: the same numbers as scikit-learn's slower way, and what becomes of odd labels and texts."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from longdoc.baselines import Majority, NoTermsError, TfIdf
from longdoc.baselines.base import loss
from longdoc.baselines.counts import Characters

WORDS = np.array(["whale", "Ship", "sea,", "pride", "ball", "it", "was", "naïve", "日本語", "a", "(x)", "don't"])
CLASS_WORDS = ["harpoon", "prejudice", "creature"]


def documents(count, seed, classes=3, length=30):
    """Texts with a word of their class in most of them, and labels."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=count)
    labels[:classes] = np.arange(classes)
    own = np.where(generator.random(count) < 0.7, labels, generator.integers(classes, size=count))
    texts = [" ".join([*generator.choice(WORDS, length), CLASS_WORDS[label]]) for label in own]
    return texts, labels


def fitted(model, train, held_out, classes=3):
    model.fit(*train, *held_out, np.ones(classes))
    return model


def test_characters_are_counted_as_scikit_learn_does():
    texts, _ = documents(20, 0)
    texts += ["", " \n", "x", "\ttabs\u3000and  wide spaces "]
    expected = CountVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2)
    found = Characters((2, 5), 2, None)
    fitted_counts, expected_counts = found.fit(texts), expected.fit_transform(texts)
    columns = [expected.vocabulary_[run] for run in found.counter.get_feature_names_out()]
    assert len(columns) == expected_counts.shape[1]
    assert (expected_counts[:, columns] != fitted_counts).nnz == 0
    others = ["Ship ahoy", "", "whales 日本"]
    assert (expected.transform(others)[:, columns] != found(others)).nnz == 0


def test_the_most_frequent_runs_are_kept():
    texts = ["aa aa aa bb", "aa bb cc", "cc dd"]
    found = Characters((2, 2), 1, 3)
    assert found.fit(texts).sum(0).tolist() == [[4, 4, 4]]
    assert sorted(found.counter.get_feature_names_out()) == [" a", "a ", "aa"]


def test_a_word_without_end_is_counted_in_pieces():
    assert Characters((2, 5), 1, None).fit(["x" * 1_000_000]).sum() > 0


def test_words_alone_are_scikit_learns_own():
    (texts, labels), (others, _) = documents(60, 0), documents(20, 1)
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    oracle = LogisticRegression(C=10, max_iter=1000).fit(vectorizer.fit_transform(texts), labels)
    model = fitted(TfIdf(characters=None, features=None, costs=[10]), (texts, labels), ([], labels[:0]))
    expected = oracle.predict_log_proba(vectorizer.transform(others))
    np.testing.assert_allclose(model.logits(others), expected, atol=1e-6)
    assert model.chosen() == {"cost": 10}


def test_the_cost_of_least_loss_on_the_documents_held_out_is_kept():
    train, held_out = documents(60, 0), documents(40, 1)
    losses = {
        cost: loss(fitted(TfIdf(costs=[cost]), train, held_out).logits(held_out[0]), held_out[1])
        for cost in (0.01, 1, 100)
    }
    model = fitted(TfIdf(costs=[100, 0.01, 1]), train, held_out)
    assert model.chosen()["cost"] == min(losses, key=losses.get)
    assert loss(model.logits(held_out[0]), held_out[1]) == pytest.approx(min(losses.values()), rel=0.01)


def test_a_class_without_documents_to_train_on_is_possible_still():
    (texts, labels), (others, _) = documents(40, 0, classes=2), documents(10, 1, classes=2)
    held_out = (others, np.arange(10) % 4)  # 1 and 3 have none to train on
    logits = fitted(TfIdf(), (texts, 2 * labels), held_out, classes=4).logits(others)
    assert np.isfinite(logits).all()
    assert set(logits.argmax(1)) <= {0, 2}
    np.testing.assert_allclose(np.exp(logits[:, [0, 2]]).sum(1), 1)


def test_one_class_alone_is_answered():
    logits = fitted(TfIdf(), (["some words"] * 4, np.full(4, 1)), (["words"], np.array([1]))).logits(["other", ""])
    assert logits.argmax(1).tolist() == [1, 1]


def test_of_several_classes_to_a_document_each_stands_against_the_rest():
    (texts, labels), (others, others_labels) = documents(60, 0), documents(20, 1)
    many = np.stack([labels == 0, labels != 0, np.ones(60, bool), np.zeros(60, bool)], 1)
    held_out = np.stack([others_labels == 0, others_labels != 0, *np.ones((2, 20), bool)], 1)
    logits = fitted(TfIdf(costs=[10]), (texts, many), (others, held_out), classes=4).logits(others)
    np.testing.assert_allclose(logits[:, 0], -logits[:, 1], atol=1e-2)
    single = fitted(TfIdf(costs=[10]), (texts, (labels != 0).astype(int)), (others, others_labels), classes=2)
    no, yes = single.logits(others).T
    np.testing.assert_allclose(logits[:, 1], yes - no, atol=1e-2)
    np.testing.assert_allclose(logits[:, 2:], np.tile([np.log(61), -np.log(61)], (20, 1)))


def test_weights_move_the_answer():
    """Six of one class and two of the other, all alike: the rarer class wins once its documents count ten times."""
    texts, labels = ["same words here"] * 8, np.array([0] * 6 + [1] * 2)
    for weights, answer in (([1, 1], 0), ([1, 10], 1)):
        model = TfIdf(costs=[1])
        model.fit(texts, labels, (), labels[:0], np.array(weights, float))
        assert model.logits(texts[:1]).argmax() == answer


def test_of_pairs_it_sees_the_cosines_of_words_and_of_characters():
    texts, _ = documents(12, 0)
    model = TfIdf(words=(1, 1))
    model.learn(texts)
    words = TfidfVectorizer(min_df=2, sublinear_tf=True).fit(texts)
    runs = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), min_df=2, sublinear_tf=True).fit(texts)
    others = ["Ship ahoy, it was a whale", "ball and pride", ""]
    pairs = np.array([[0, 1], [0, 0], [2, 1]])
    expected = [
        (found[pairs[:, 0]] @ found[pairs[:, 1]].T).diagonal()
        for found in (vectorizer.transform(others) for vectorizer in (words, runs))
    ]
    vectors = model.vectors(others)
    found = model.together(*(vectors[side] for side in pairs.T))
    np.testing.assert_allclose(found, np.stack(expected, 1), atol=1e-12)
    np.testing.assert_allclose(found[1], 1)


def test_documents_without_anything_in_common_are_refused():
    with pytest.raises(NoTermsError, match=r"^baseline=tfidf: no word and no run of characters is in two documents"):
        fitted(TfIdf(), (["", "ab", "cd"], np.arange(3)), ([], np.arange(0)))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"length": 0}, "^baseline.length=0 must be at least 1, or null for whole documents$"),
        ({"words": [2, 1]}, r"^baseline.words=\[2, 1\] must be the shortest and the longest run, such as \[1, 2\]$"),
        ({"characters": [3]}, r"^baseline.characters=\[3\] must be"),
        ({"features": 0}, "^baseline.features=0 must be at least 1, or null for all$"),
        ({"costs": []}, r"^baseline.costs=\[\] must be one or more numbers above 0$"),
        ({"costs": [0, 1]}, r"^baseline.costs=\[0, 1\] must be"),
    ],
)
def test_options_without_a_meaning_are_refused(options, why):
    with pytest.raises(ValueError, match=why):
        TfIdf(**options)


def test_the_majority_answers_with_the_shares_of_the_classes():
    labels = np.array([0, 2, 2, 2, 2])
    logits = fitted(Majority(), (["a"] * 5, labels), ([], labels[:0])).logits(["x", "y"])
    np.testing.assert_allclose(np.exp(logits), [[2 / 8, 1 / 8, 5 / 8]] * 2)
    many = np.array([[True, False], [True, False], [True, True]])
    odds = fitted(Majority(), (["a"] * 3, many), ([], many[:0]), classes=2).logits(["x"])
    np.testing.assert_allclose(np.exp(odds), [[4 / 1, 2 / 3]])
