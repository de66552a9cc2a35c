"""Only trusted classes are built, wherever their names stand and however they are spelled."""

import sys

import pytest
import torch
from hydra.utils import get_object
from omegaconf import OmegaConf
from reference import CONF, load, names

from longdoc.attention import LinearAttention
from longdoc.build import TRUSTED, allow, build
from longdoc.feature_maps import Elu, FeatureMap
from longdoc.models.pooling import Pooling

ELU = {"_target_": "longdoc.feature_maps.Elu", "head_dim": 4, "heads": 2}
FILES = sorted(CONF.rglob("*.yaml"))


def targets(node):
    """Every ``_target_`` of a config, however deep."""
    if isinstance(node, dict):
        yield from ([node["_target_"]] if "_target_" in node else [])
        for value in node.values():
            yield from targets(value)
    elif isinstance(node, list):
        for value in node:
            yield from targets(value)


def every_target():
    return sorted({t for path in FILES for t in targets(OmegaConf.to_container(OmegaConf.load(path)))})


@pytest.mark.parametrize("config", [ELU, OmegaConf.create(ELU)], ids=["dict", "DictConfig"])
def test_builds_what_the_target_names(config):
    built = build(config)
    assert type(built) is Elu
    assert (built.head_dim, built.heads) == (4, 2)


def test_a_partial_is_a_factory():
    factory = build({"_target_": "longdoc.feature_maps.Favor", "_partial_": True, "features": 5})
    assert factory(4, 2).feature_dim == 5


def test_nested_targets_are_built_first():
    config = {
        "_target_": "longdoc.attention.LinearAttention",
        "head_dim": 4,
        "heads": 2,
        "feature_map": {"_target_": "longdoc.feature_maps.Elu", "_partial_": True},
    }
    attention = build(config)
    assert type(attention) is LinearAttention
    assert type(attention.feature_map) is Elu


def test_lists_arrive_as_lists():
    """Adam's betas as a ListConfig would crash the first checkpoint."""
    config = OmegaConf.create({"_target_": "torch.optim.AdamW", "_partial_": True, "betas": [0.8, 0.95]})
    assert type(build(config).keywords["betas"]) is list


def test_interpolations_of_a_config_are_resolved():
    config = OmegaConf.create({"size": 4, "map": {**ELU, "head_dim": "${size}"}})
    assert build(config.map).head_dim == 4


@pytest.mark.parametrize(
    "target",
    [
        "os.system",
        "subprocess.run",
        "builtins.eval",
        "builtins.exec",
        "torch.hub.load",
        "torch.load",
        "longdoc.attention.ops.torch.hub.load",
        "longdoc.tasks.cache.shutil.rmtree",
        "longdoc.build.instantiate",
        "longdoc.build.get_object",
        "longdoc.build.build.__globals__.get",
        "longdoc.build.build",
        "longdoc.export.load",
        "torch.optim.adamw.adamw",
        "longdoc.feature_maps.Elu.load_state_dict",
        "longdocument.Model",
        "longdoc.feature_maps",
        "pathlib.Path",
    ],
)
@pytest.mark.parametrize("trusted", [TRUSTED, ("longdoc",)], ids=["command line", "checkpoint"])
def test_what_does_not_live_in_a_trusted_package_is_refused(target, trusted):
    with pytest.raises(ValueError, match=f"_target_: {target} (is not built: only classes of longdoc|cannot be found)"):
        build({"_target_": target}, trusted=trusted)


@pytest.mark.parametrize(
    "nest",
    [
        lambda bad: {"_target_": "longdoc.models.pooling.Pooling", "kind": bad},
        lambda bad: {**ELU, "head_dim": {"deeper": [{"still": bad}]}},
        lambda bad: {**ELU, "_args_": [bad]},
        lambda bad: {"no target here": bad},
        lambda bad: OmegaConf.create({"a": bad, "b": {**ELU, "head_dim": "${..a}"}}).b,
    ],
    ids=["argument", "deep", "positional", "without a target", "interpolation"],
)
def test_nested_targets_are_checked_before_anything_runs(nest, tmp_path):
    trace = tmp_path / "trace"
    with pytest.raises(ValueError, match=r"_target_: os.mkdir is not built"):
        build(nest({"_target_": "os.mkdir", "path": str(trace)}))
    assert not trace.exists()


HIDDEN = [
    "${{oc.create:{{_target_: os.mkdir, path: '{trace}'}}}}",
    "${{oc.decode:'{{_target_: os.mkdir}}'}}",
    "${{oc.env:HOME}}",
]


@pytest.mark.parametrize("hidden", HIDDEN, ids=["create", "decode", "env"])
def test_a_checkpoint_cannot_hide_a_target_in_an_interpolation(hidden, tmp_path):
    """Hydra would resolve it after the check; a plain config comes from a file and is resolved already."""
    trace = tmp_path / "trace"
    hidden = hidden.format(trace=trace)
    for kind in (hidden, [hidden], {"a": {"b": hidden}}):
        with pytest.raises(ValueError, match="is not built"):
            build({"_target_": "longdoc.models.pooling.Pooling", "kind": kind}, trusted=("longdoc",))
    assert not trace.exists()


@pytest.mark.parametrize("escape", ["", "\\"])
def test_a_config_cannot_hide_a_target_in_an_interpolation(escape, tmp_path):
    trace = tmp_path / "trace"
    kind = escape + HIDDEN[0].format(trace=trace)
    with pytest.raises(ValueError, match="is not built"):
        build(OmegaConf.create({"_target_": "longdoc.models.pooling.Pooling", "kind": kind}))
    assert not trace.exists()


def test_a_checkpoint_builds_longdoc_alone():
    optimizer = {"_target_": "torch.optim.AdamW", "_partial_": True, "lr": 0.5}
    assert build(optimizer).func is torch.optim.AdamW
    with pytest.raises(ValueError, match=r"_target_: torch.optim.AdamW is not built: only classes of longdoc are"):
        build(optimizer, trusted=("longdoc",))
    assert type(build(ELU, trusted=("longdoc",))) is Elu


def test_a_target_that_is_not_there_is_named():
    with pytest.raises(ValueError, match=r"_target_: longdoc.feature_maps.Elru cannot be found"):
        build({"_target_": "longdoc.feature_maps.Elru"})


def test_the_built_object_speaks_for_itself():
    """Its own error, not Hydra's wrapping of it."""
    with pytest.raises(ValueError, match=r"^pooling=median: 'median' is not one of"):
        build({"_target_": "longdoc.models.pooling.Pooling", "kind": "median"})
    assert type(build({"_target_": "longdoc.models.pooling.Pooling", "kind": "mean"})) is Pooling


@pytest.mark.parametrize("target", every_target())
def test_every_target_of_conf_is_there_and_trusted(target):
    home = get_object(target).__module__
    assert any(home == package or home.startswith(package + ".") for package in TRUSTED)


@pytest.mark.parametrize("name", names("feature_map"))
def test_every_feature_map_of_conf_builds(name):
    phi = build(load(f"feature_map/{name}"))(8, 2)
    assert isinstance(phi, FeatureMap)
    assert (phi.head_dim, phi.heads) == (8, 2)
    assert phi.query(torch.randn(1, 2, 3, 8)).shape == (1, 2, 3, phi.feature_dim)


@pytest.mark.parametrize(("target", "sentence"), [
    ("longdoc.feature_maps.Elu", "it has no options"),
    ("longdoc.feature_maps.Favor", "its options are features, redraw_every"),
])  # fmt: skip
def test_an_option_of_another_class_is_refused_with_the_options_there_are(target, sentence):
    with pytest.raises(ValueError, match=f"^{target} has no option nu; {sentence}$"):
        build({"_target_": target, "_partial_": True, "nu": 3})


@pytest.fixture(name="mine")
def _mine(tmp_path, monkeypatch):
    """A working directory with modules of the user's own; each leaves a trace where it is imported."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("maps_of_mine", "maps_of_theirs"):
        code = f"open('{name}.trace', 'w')\nfrom longdoc.feature_maps import Elu\nclass Mine(Elu): ...\ndef make(): ..."
        (tmp_path / f"{name}.py").write_text(code)
    yield tmp_path
    for name in ("maps_of_mine", "maps_of_theirs"):
        sys.modules.pop(name, None)


def test_a_class_of_an_allowed_module_is_built_from_the_working_directory(mine):
    before = list(sys.path)
    with pytest.raises(ValueError, match=r"(?s)cannot be found .*No module named 'maps_of_mine'"):
        build({"_target_": "maps_of_mine.Mine"}, trusted=("maps_of_mine",))
    trusted = TRUSTED + allow("maps_of_mine")
    assert sys.path == [*before, str(mine)]
    assert allow([]) == ()
    assert type(build({"_target_": "maps_of_mine.Mine", "head_dim": 4, "heads": 2}, trusted)).__name__ == "Mine"
    with pytest.raises(ValueError, match=r"maps_of_mine.make is not built: only classes"):
        build({"_target_": "maps_of_mine.make"}, trusted)
    with pytest.raises(ValueError, match=r"maps_of_mine.Elu.load_state_dict is not built"):
        build({"_target_": "maps_of_mine.Elu.load_state_dict"}, trusted)


def test_a_module_that_is_not_allowed_is_not_even_imported(mine):
    trusted = ("longdoc", *allow(["maps_of_mine"]))
    with pytest.raises(ValueError, match=r"only classes of longdoc, maps_of_mine are; .* --trust maps_of_theirs for a"):
        build({"_target_": "maps_of_theirs.Mine"}, trusted)
    assert list(mine.glob("*.trace")) == []


@pytest.mark.parametrize("name", ["os", "builtins", "posix", "subprocess", "torch", "my.maps", "a b", "", "../x", 3])
def test_what_is_no_module_of_ones_own_cannot_be_allowed(name):
    before = list(sys.path)
    with pytest.raises(ValueError, match=r"^trust: .* (is no module's top-level name|is no module of your own)"):
        allow([name])
    assert sys.path == before
