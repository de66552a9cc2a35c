"""What only the command line may say, and bad input, which is answered in one sentence."""

import json
import shlex

import pytest
from commands import PROJECT, TINY
from hydra import compose, initialize_config_dir
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf

from longdoc.command_line import check_is_read, command_line, override, trust
from longdoc.errors import one_sentence
from longdoc.export import build_classifier

OmegaConf.register_new_resolver("longdoc.run_folder", lambda *_: "outputs", replace=True)


@pytest.mark.parametrize("value", ["my_maps", ["my_maps"], ["my_maps", "yours"]])
def test_trust_is_what_the_command_line_says(value):
    typed = f"trust={value}".replace("'", "").replace(" ", "")
    assert trust(value, ["seed=1", typed]) == ([value] if isinstance(value, str) else value)


@pytest.mark.parametrize("nothing", [[], None, ""])
def test_nothing_is_trusted_unless_something_is_said(nothing):
    assert trust(nothing, ["seed=1"]) == []


@pytest.mark.parametrize("arguments", [[], ["seed=1"], ["trust=[]"], ["trust=yours"], ["experiment.trust=theirs"]])
def test_trust_from_elsewhere_is_refused(arguments):
    with pytest.raises(ValueError, match=r"^trust=\['theirs'\] is not from the command line"):
        trust(["theirs"], arguments)


def test_trust_of_pythons_library_is_refused():
    with pytest.raises(ValueError, match="trust: os is no module of your own"):
        trust("os", ["trust=os"])


@pytest.mark.parametrize(
    "path", ["runs/a_1-b", "a b/c,d (1)", "größe/[x]=y", "it's", "back\\slash'", "end\\", "a:b", "{c}", "7", "null"]
)
def test_a_path_is_handed_over_whatever_is_in_it(path):
    (word,) = shlex.split(shlex.quote(override("resume", path)))
    (parsed,) = OverridesParser.create().parse_overrides([word])
    assert (parsed.key_or_group, parsed.value()) == ("resume", path)


def test_a_command_is_what_was_typed_and_of_a_resumed_run_what_began_it_with_what_is_changed(tmp_path):
    typed = ["task=books", "task.path='a b.csv'", "variant=elu"]
    command = command_line(typed)
    assert command == """python train.py task=books 'task.path='"'"'a b.csv'"'"'' variant=elu"""
    assert command_line([r"trainer.max_time=00\:00\:10\:00"]) == "python train.py trainer.max_time=00:00:10:00"
    assert command_line(["resume=x", "trainer.max_steps=9"], str(tmp_path)) is None
    (tmp_path / "results.json").write_text(json.dumps({"command": command}))
    assert command_line(["resume=x", "trainer.max_steps=9"], str(tmp_path)) == f"{command} trainer.max_steps=9"
    (tmp_path / "results.json").write_text("{}")
    assert command_line(["resume=x"], str(tmp_path)) is None


def answer(*overrides: str) -> str:
    """What a run with these words would say was wrong, before any data is read."""
    try:
        with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
            composed = compose("train", [*TINY, *overrides], return_hydra_config=True)
        choices = dict(composed.hydra.runtime.choices)
        config = OmegaConf.to_container(OmegaConf.masked_copy(composed, ["encoder", "attention", "task", "pooling",
            "feature_map", "decay", "seed", "trainer"]), resolve=True)  # fmt: skip
        check_is_read(config["attention"], choices, overrides)
        build_classifier(config, 300, 3)
    except Exception as error:
        return one_sentence(error)
    return ""


ELU, NO_DECAY = "longdoc.feature_maps.Elu", "longdoc.attention.NoDecay"


@pytest.mark.parametrize(("overrides", "sentence"), [
    ("feature_map=elu feature_map.features=64",
     f"feature_map.features does not exist: {ELU} has no such option; it has no options"),
    ("feature_map=relu feature_map.redraw_every=100",
     "feature_map.redraw_every does not exist: longdoc.feature_maps.Relu has no such option; it has no options"),
    ("feature_map=dpfp feature_map.features=64",
     "feature_map.features does not exist: longdoc.feature_maps.Dpfp has no such option; its options are nu"),
    ("+feature_map.features=64", f"{ELU} has no option features; it has no options"),
    ("feature_map=efficient attention.causal=true",
     "attention.causal=true: feature_map=efficient needs the whole sequence for its keys; "
     "choose attention.causal=false, or a map of single tokens such as elu"),
    ("encoder.positions=rotary encoder.heads=16",
     "encoder.positions=rotary needs heads of even size: encoder.width=16 / encoder.heads=16 is odd"),
    ("decay=fixed decay.rank=4",
     "decay.rank does not exist: longdoc.attention.FixedDecay has no such option; its options are longest, shortest"),
    ("decay.shortest=8", f"decay.shortest does not exist: {NO_DECAY} has no such option; it has no options"),
    ("decay=fixed decay.shortest=0", "decay.shortest=0 must be > 0 and at most decay.longest=4096"),
    ("attention=softmax decay=fixed",
     "decay=fixed: attention=softmax has no decay; leave it out, or choose attention=linear"),
    ("attention=softmax feature_map=favor",
     "feature_map=favor: attention=softmax has no feature_map; leave it out, or choose attention=linear"),
    ("attention=window feature_map=favor feature_map.features=8",
     "feature_map=favor: attention=window has no feature_map; leave it out, or choose attention=linear"),
    ("attention=softmax attention.normalizer=none",
     "attention.normalizer does not exist: longdoc.attention.SoftmaxAttention has no such option; "
     "its options are causal"),
    ("attention.normalizer=magnitude feature_map=favor",
     "attention.normalizer=magnitude: feature_map=favor leaves the scale of its weights open; "
     "choose attention.normalizer=sum or none, or a map such as elu"),
    ("encoder.hybrid_every=-1", "encoder.hybrid_every=-1 must be 0 for none, or at most encoder.depth=2"),
    ("encoder.convolution=4",
     "encoder.convolution=4 must be 0 or at least 3 tokens and odd, as attention is not causal"),
    ("encoder.convolution=1 attention.causal=true", "encoder.convolution=1 must be 0 or at least 2 tokens"),
    ("encoder.convolution=4 attention.causal=true", ""),
    ("variant=softmax decay=fixed feature_map=favor", ""),
    ("attention=softmax", ""),
    ("attention=linear decay=fixed feature_map=favor", ""),
])  # fmt: skip
def test_bad_input_is_answered_in_one_sentence(overrides, sentence):
    assert answer(*overrides.split()) == sentence


@pytest.mark.parametrize(("name", "attention", "feature_map", "decay", "encoder"), [
    ("elu", "linear", "elu", "none", {}),
    ("elu_fixed", "linear", "elu", "fixed", {}),
    ("elu_selective", "linear", "elu", "selective", {}),
    ("elu_channel", "linear", "elu", "channel", {}),
    ("elu_conv", "linear", "elu", "none", {"convolution": 3}),
    ("elu_hybrid", "linear", "elu", "none", {"hybrid_every": 2}),
    ("softmax", "softmax", "elu", "none", {}),
    ("window", "window", "elu", "none", {}),
])  # fmt: skip
def test_a_variant_is_a_whole_row(name, attention, feature_map, decay, encoder):
    with initialize_config_dir(str(PROJECT / "conf"), version_base="1.3"):
        composed = compose("train", [f"variant={name}"], return_hydra_config=True)
    choices = composed.hydra.runtime.choices
    assert (choices["attention"], choices["feature_map"], choices["decay"]) == (attention, feature_map, decay)
    for key, value in ({"convolution": 0, "hybrid_every": 0} | encoder).items():
        assert composed.encoder[key] == value
