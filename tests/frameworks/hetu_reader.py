"""Hetu's own Python code, on stubs of its C++ module."""

import enum
import importlib
import importlib.util
import math
import os
import sys
import types

import upstream

REAL = ["hetu.utils.parallel", "hetu.engine.trainer",
        "hetu.engine.trainer_config", "hetu.engine.utils",
        "hetu.nn.modules.parallel_multi_ds",
        "hetu.models.llama.generate_llama_hetero_4d_config",
        "hetu.models.llama.llama_config", "hetu.models.llama.llama_model"]


class DistributedStates:
    """How a tensor is split over devices; -1: copies."""

    def __init__(self, device_num, states, order, zero=False):
        assert math.prod(states.values()) == device_num, states
        assert sorted(states) == sorted(order), (states, order)
        self.device_num, self.states = device_num, dict(states)
        self.order, self.zero = order, zero

    def get_dim(self, dim):
        return self.states.get(dim, 1)

    def get_dup_group_index(self, device):
        return device % self.get_dim(0)


class Union:

    def __init__(self, ds_list, hetero_dim):
        self.ds_list, self.hetero_dim = ds_list, hetero_dim
        self.zero = ds_list[0].zero

    def get(self, i):
        return self.ds_list[i]

    def get_local(self, i):
        """The part of one pipeline, without the copies of the others."""
        return self.ds_list[i]


class DeviceGroup:

    def __init__(self, devices):
        assert devices and None not in devices and (
            len(set(devices)) == len(devices)), devices
        self.devices = list(devices)
        self.num_devices = len(devices)

    def contains(self, device):
        return device in self.devices

    def get(self, i):
        return self.devices[i]

    def get_index(self, device):
        return self.devices.index(device)


class IntSymbol:

    def __init__(self, data):
        self.data = data

    def set_data(self, data):
        self.data = data


class PreTrained:

    def __init__(self, *_, **options):
        self.__dict__.update(options)


class Reader:
    """Hetu for one cluster at a time; `device` is that of the process."""

    def __init__(self, checkout):
        root = os.path.join(checkout, "python")
        upstream.Stubs(root, ["hetu"], REAL)
        upstream.stub_module("hydra",
                             main=lambda **_: lambda function: function)
        self.hetu = importlib.import_module("hetu")
        upstream.stub_module("hetu.data", __path__=[], IGNORE_INDEX=-100)
        upstream.stub_module("hetu.data.dataloader", DataLoadLevel=enum.Enum(
            "DataLoadLevel", {"SAMPLE": "sample", "TOKEN": "token"}),
            build_data_loader=None)
        upstream.stub_module(
            "hetu.models.utils", __path__=[], PreTrainedConfig=PreTrained)
        upstream.stub_module("hetu.models.utils.model_utils",
                             PreTrainedModel=PreTrained)
        self.parameters = []
        for name, member in (
                ("DistributedStates", DistributedStates),
                ("DistributedStatesUnion", Union),
                ("DeviceGroup", DeviceGroup), ("IntSymbol", IntSymbol),
                ("global_device_group", lambda: self.devices),
                ("local_device", lambda: self.device),
                ("run_level", lambda name: name),
                ("parallel_parameter", self._parameter)):
            setattr(self.hetu, name, member)
        layers = importlib.import_module("hetu.nn.modules.parallel_multi_ds")
        upstream.stub_module("hetu.nn", __path__=[], Module=PreTrained,
                             ModuleList=list, **{
                                 name: getattr(layers, name)
                                 for name in layers.__all__})
        sys.modules["hetu.nn.modules.parallel_multi_ds"] = layers
        self.trainer = importlib.import_module("hetu.engine.trainer")
        self.config = importlib.import_module("hetu.engine.trainer_config")
        self.model = importlib.import_module("hetu.models.llama.llama_model")
        self.model_config = importlib.import_module(
            "hetu.models.llama.llama_config")
        self.generator = importlib.import_module(
            "hetu.models.llama.generate_llama_hetero_4d_config")

    def _parameter(self, _init, shape, unions, *_, **options):
        self.parameters.append((options["name"], shape, unions[0],
                                options["device_group_hierarchy"][0]))
        return types.SimpleNamespace()

    def use(self, num_devices, device=0):
        self.devices = DeviceGroup([f"device {i}" for i in range(num_devices)])
        self.device = self.devices.get(device)

    def parameters_of(self, model, configs):
        """Builds the model; returns (name, shape, union, groups) of all
        weights."""
        self.parameters = []
        self.model.LlamaLMHeadModel(
            self.model_config.LlamaConfig(**model), configs)
        return self.parameters
