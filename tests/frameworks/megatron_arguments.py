"""Loads Megatron-LM's own parser and validation of arguments from a checkout.

They need PyTorch. Stubs replace the rest of Megatron-LM.
"""

import contextlib
import importlib
import io
import os
import sys
import typing
import warnings
from unittest import mock

import upstream

REAL = [
    "megatron.core.activations", "megatron.core.distributed."
    "distributed_data_parallel_config", "megatron.core.enums",
    "megatron.core.fault_injector", "megatron.core.model_parallel_config",
    "megatron.core.models.hybrid.hybrid_layer_allocation",
    "megatron.core.msc_utils", "megatron.core.optimizer.optimizer_config",
    "megatron.core.quantization", "megatron.core.rerun_state_machine",
    "megatron.core.telemetry", "megatron.core.transformer.cuda_graph_config",
    "megatron.core.transformer.enums", "megatron.core.transformer."
    "heterogeneous.heterogeneous_config", "megatron.core.transformer."
    "pipeline_parallel_layer_layout", "megatron.core.transformer.spec_utils",
    "megatron.core.transformer.transformer_config",
    "megatron.core.typed_torch", "megatron.training.argument_utils",
    "megatron.training.arguments", "megatron.training.config",
    "megatron.training.models"]


def set_use_dist_ckpt(args):
    args.use_dist_ckpt = args.ckpt_format != "torch"


def load(root):
    """Loads megatron.training.arguments as on a machine with A100s."""
    upstream.Stubs(root, ["megatron"], REAL)
    if not hasattr(typing, "override"):  # Before Python 3.12.
        typing.override = lambda function: function
    import megatron.core.distributed as distributed
    import megatron.core.extensions.kitchen as kitchen
    import megatron.core.optimizer as optimizer
    import megatron.core.transformer as transformer
    import megatron.core.utils as utils
    import megatron.training.utils as training_utils
    utils.is_torch_min_version = lambda *_: True
    utils.is_te_min_version = lambda *_, **__: True
    utils.get_torch_version = lambda: None
    training_utils.get_device_arch_version = lambda: 8
    training_utils.update_use_dist_ckpt = set_use_dist_ckpt
    kitchen.HAVE_KITCHEN = False
    config = transformer.transformer_config
    transformer.TransformerConfig = config.TransformerConfig
    transformer.MLATransformerConfig = config.MLATransformerConfig
    distributed.DistributedDataParallelConfig = (
        distributed.distributed_data_parallel_config
        .DistributedDataParallelConfig)
    optimizer.OptimizerConfig = optimizer.optimizer_config.OptimizerConfig
    import megatron.training.arguments as arguments
    return arguments


def parse(arguments, words, rank, world, capability=7):
    """Parses and validates the command line of a rank with the loaded
    `arguments`. Returns the arguments and the model's configuration for
    training. Raises their AssertionError or SystemExit."""
    environment = {"RANK": str(rank), "WORLD_SIZE": str(world),
                   "CUDA_DEVICE_MAX_CONNECTIONS": "1"}
    torch = importlib.import_module("torch")
    torch.cuda.get_device_capability = lambda: (capability, 0)
    with mock.patch.dict(os.environ, environment), \
            mock.patch.object(sys, "argv", ["pretrain_gpt.py", *words]), \
            contextlib.redirect_stdout(io.StringIO()), \
            warnings.catch_warnings(record=True):
        args = arguments.parse_args()
        arguments.validate_args(args)
        return args, arguments.core_transformer_config_from_args(args)
