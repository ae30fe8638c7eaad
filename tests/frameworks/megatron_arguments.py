"""Megatron-LM's own parser and validator of arguments, from a checkout.

They need PyTorch. What they read is Megatron-LM's; all else that its modules
import is stubbed, as it would need GPUs.
"""

import contextlib
import importlib.abc
import importlib.machinery
import io
import os
import sys
import types
from unittest import mock

_READ = {
    "megatron.core.fault_injector",
    "megatron.core.model_parallel_config",
    "megatron.core.transformer.cuda_graph_config",
    "megatron.core.transformer.enums",
    "megatron.core.transformer.pipeline_parallel_layer_layout",
    "megatron.core.transformer.transformer_config",
    "megatron.training.argument_utils",
    "megatron.training.arguments",
    "megatron.training.config",
}


class _Stub(types.ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        setattr(self, name, mock.MagicMock(name=name))
        return getattr(self, name)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, root):
        self._root = root

    def find_spec(self, fullname, path, target=None):
        if fullname.split(".")[0] not in ("megatron", "packaging"):
            return None
        if fullname in _READ or fullname.startswith("megatron.training.config."):
            return importlib.machinery.PathFinder.find_spec(fullname, path)
        spec = importlib.machinery.ModuleSpec(fullname, self, is_package=True)
        spec.submodule_search_locations = [
            os.path.join(self._root, *fullname.split("."))]
        return spec

    def create_module(self, spec):
        return _Stub(spec.name)

    def exec_module(self, module):
        pass


def load(root):
    """megatron.training.arguments of a checkout."""
    sys.meta_path.insert(0, _Finder(root))
    module = importlib.import_module
    transformer = module("megatron.core.transformer")
    config = module("megatron.core.transformer.transformer_config")
    transformer.TransformerConfig = config.TransformerConfig
    core, training = module("megatron.core.utils"), module("megatron.training.utils")
    core.is_torch_min_version = core.is_te_min_version = lambda *_: True
    training.get_device_arch_version = lambda: 9
    training.update_use_dist_ckpt = (
        lambda args: setattr(args, "use_dist_ckpt", False))
    storage = module("megatron.core.msc_utils").MultiStorageClientFeature
    storage.is_enabled.return_value = False
    return module("megatron.training.arguments")


def validated(arguments, words, rank, world_size):
    """What `arguments`, as loaded, makes of a rank's command line. Raises what
    they do: AssertionError, or SystemExit with what argparse printed."""
    environment = {"RANK": str(rank), "WORLD_SIZE": str(world_size),
                   "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    with mock.patch.dict(os.environ, environment), \
            mock.patch.object(sys, "argv", ["pretrain_gpt.py", *words]), \
            contextlib.redirect_stdout(io.StringIO()):
        parsed = arguments.parse_args()
        arguments.validate_args(parsed)
    return parsed
