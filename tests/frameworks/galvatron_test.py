"""Galvatron's own reader reads strategies as the plan's stages, and its schema
knows every key of the runtime files.

Needs omegaconf and numpy. PyTorch and hydra are stubs. So is pydantic, since
Debian's is older. The stub refuses extra keys, which pydantic would drop.
"""

import contextlib
import importlib.util
import io
import os
import typing
import unittest

import upstream


class Field:

    def __init__(self, default=None, default_factory=None, ge=None, le=None,
                 **_):
        self.make = default_factory or (lambda: default)
        self.ge, self.le = ge, le

    def check(self, key, value):
        if value is None or isinstance(value, str):
            return
        if self.ge is not None and value < self.ge:
            raise ValueError(f"{key}: {value} is below {self.ge}")
        if self.le is not None and value > self.le:
            raise ValueError(f"{key}: {value} is above {self.le}")


def check_type(key, kind, value):
    """Checks literals, numbers, texts and booleans; anything else passes."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Literal:
        good = value in args
    elif origin is typing.Union:
        good = value is None or any(
            option is type(value) for option in args) or not any(
                option in (int, str, bool) for option in args)
    else:
        good = kind not in (int, str, bool) or isinstance(value, kind)
    if not good:
        raise TypeError(f"{key}: {value!r} is no {kind}")


class BaseModel:
    """The part of pydantic's BaseModel that Galvatron's schema uses."""

    def __init__(self, **values):
        kinds = self.__annotations__
        unknown = sorted(set(values) - set(kinds))
        if unknown:
            raise KeyError(f"{type(self).__name__} has no {unknown}")
        for key, kind in kinds.items():
            field = getattr(type(self), key)
            if key not in values:
                setattr(self, key, field.make())
                continue
            value = values[key]
            models = [option for option in (kind, *typing.get_args(kind))
                      if isinstance(option, type)
                      and issubclass(option, BaseModel)]
            if models and value is not None:
                value = models[0](**value)
            check_type(key, kind, value)
            field.check(key, value)
            setattr(self, key, value)


def load(root):
    """Returns Galvatron's loader of runtime files and reader of strategies."""
    upstream.stub_module(
        "pydantic", BaseModel=BaseModel, Field=Field,
        ConfigDict=dict, ImportString=typing.List, model_validator=None,
        field_validator=lambda *_, **__: lambda function: function)
    upstream.Stubs(
        root, ["galvatron", "torch", "hydra", "scipy"],
        ["galvatron.core.arguments", "galvatron.core.args_schema",
         "galvatron.core.runtime.args_schema",
         "galvatron.core.runtime.hybrid_parallel_config",
         "galvatron.utils.config_utils"])
    from omegaconf import OmegaConf
    import hydra
    import galvatron.utils
    galvatron.utils.__dict__.update(
        {name: value
         for name, value in galvatron.utils.config_utils.__dict__.items()
         if not name.startswith("_")})
    hydra.initialize_config_dir = (
        lambda config_dir, **_: contextlib.nullcontext(
            os.environ.update(CONFIG_DIR=config_dir)))
    hydra.compose = lambda config_name, **_: OmegaConf.load(
        os.path.join(os.environ["CONFIG_DIR"], config_name))
    from galvatron.core.arguments import load_with_hydra
    from galvatron.core.runtime import hybrid_parallel_config
    return load_with_hydra, hybrid_parallel_config


class Galvatron(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        root = upstream.checkout("Hetu-Galvatron")
        for module in ("omegaconf", "numpy"):
            if importlib.util.find_spec(module) is None:
                raise unittest.SkipTest(f"no Python package {module}")
        cls.load_runtime, cls.reader = load(root)
        super().setUpClass()

    def strategy(self, folder, world):
        """Returns the runtime's arguments and the strategy of its layers."""
        import torch
        torch.distributed.get_world_size = lambda: world
        # The program is in a folder of its models.
        program, runtime = upstream.launched(folder, "GALVATRON",
                                             "Hetu-Galvatron")
        self.assertEqual(program, "train_dist.py")
        os.environ["GALVATRON_CONFIG"] = f"{folder}/galvatron.json"
        with contextlib.redirect_stdout(io.StringIO()):
            args = type(self).load_runtime(runtime, mode="train_dist")
            config = self.reader.get_hybrid_parallel_configs_api(args)
            self.reader.check_hp_config(config, [args.model.num_layers])
        return args, config

    def check(self, folder, plan):
        """Checks the degrees of every layer, and the kind of the model."""
        stages = plan["plan"]["stages"]
        world = sum(g["count"] for s in stages for g in s["gpus"])
        args, config = self.strategy(folder, world)
        self.assertEqual(config["pp_deg"], len(stages))
        division = config["pp_division"]
        tp = [s["plan"]["parallelism"]["tp_degree"] for s in stages]
        self.assertEqual(config["tp_sizes_enc"],
                         [d for d, n in zip(tp, division) for _ in range(n)])
        self.assertEqual(sum(division), args.model.num_layers)
        layer = plan["model"]["layer_types"][1]
        self.assertEqual(args.model.is_moe_model,
                         layer.get("num_experts", 0) > 0)
        self.assertEqual(args.model.gated_linear_unit,
                         layer.get("gated_mlp", False))
        head = plan["model"]["layer_types"][-1]
        self.assertEqual(args.model.untie_embeddings_and_output_weights,
                         not head.get("tied_embeddings", False))
        return args, config

    def test_layers_of_two_degrees(self):
        plan = self.two_islands()
        for device in plan["cluster"]["devices"]:
            device["supports_flash_attention"] = True
        folder = self.export("galvatron", plan, "--allow-lossy")
        args, config = self.check(folder, plan)
        self.assertEqual(config["pp_division"], [5, 11])
        self.assertEqual(config["checkpoint_flags_enc"], [1] * 5 + [0] * 11)
        self.assertEqual(args.train.chunks, 32)
        with self.assertRaises(AssertionError):  # It can fail.
            self.strategy(folder, 20)

    def test_plans_of_the_table(self):
        upstream.check_table(self, "galvatron", self.check)


if __name__ == "__main__":
    upstream.main()
