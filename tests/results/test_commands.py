"""Commands as they were typed: together again as sweeps, and true of what they trained."""

import shlex

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from results.records import made

from longdoc.results.commands import sweeps, trains


def test_runs_of_all_combinations_are_one_sweep():
    jobs = [f"python train.py task=books variant={name} seed={seed}" for name in ("elu", "softmax") for seed in (1, 2)]
    assert sweeps(jobs) == ["python train.py -m task=books variant=elu,softmax seed=1,2"]
    assert sweeps([*jobs[:3], jobs[0]]) == jobs[:3]
    other = "python train.py task=books seed=3"
    assert sweeps([*jobs, other]) == [*sweeps(jobs), other]
    assert sweeps([]) == []
    assert sweeps([f"python train.py ~logger seed={seed}" for seed in (1, 2)]) == [
        "python train.py -m '~logger' seed=1,2"
    ]


def test_a_sweep_of_lists_and_quoted_values_is_what_hydra_takes_apart_again():
    values = ["optimizer.betas=[0.8,0.95]", "optimizer.betas=[0.9,0.99]"]
    (sweep,) = sweeps(shlex.join(["python", "train.py", value, "task.path='a b,c.csv'"]) for value in values)
    betas, path = OverridesParser.create().parse_overrides(shlex.split(sweep)[3:])
    assert list(betas.sweep_string_iterator()) == ["[0.8,0.95]", "[0.9,0.99]"]
    assert path.value() == "a b,c.csv"


@pytest.mark.parametrize(
    ("words", "true"),
    [
        ("-m variant=softmax,elu optimizer.lr=1e-3", True),
        ("variant=softmax", False),
        ("optimizer.lr=2e-3", False),
        ("optimizer.lr=fast", False),
        ("encoder.width=64,128 resume=null", True),
        ("task.pairs=4", False),
        ("optimizer.betas=[0.9,0.95]", True),
        ("optimizer.nesterov=true", True),
        ("optimizer.nesterov=false", False),
        ("", True),
    ],
)
def test_a_command_is_of_a_run_if_all_that_it_says_is_so(words, true):
    record = made()
    record["config"]["choices"] = {"variant": "elu"}
    record["config"]["optimizer"] |= {"betas": [0.9, 0.95], "nesterov": True}
    assert trains(f"python train.py {words}", record) is true
