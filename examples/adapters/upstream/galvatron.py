#!/usr/bin/env python3
"""Runs the search engine of Galvatron 3.0 (arXiv 2211.13878), unchanged.

Usage: galvatron.py --checkout DIR [--layers-per-atom N]

DIR is a checkout of github.com/PKU-DAIR/Hetu-Galvatron with its core built:
  cd DIR && c++ -O3 -shared -fPIC $(python3-config --includes) \
    csrc/dp_core.cpp -o galvatron_dp_core.so
Needs numpy and scipy; on Debian also python3-dev and pybind11-dev to build. The
engine reads profiles, which are written from the estimates of the query. All
layers of one of our stages have the same degrees, so the engine runs once for
each set of degrees and chooses the layers that keep their activations.
"""

import argparse
import contextlib
import copy
import io
import json
import logging
import os
import sys
import tempfile
from types import ModuleType, SimpleNamespace
from unittest import mock

import tangram_adapter
from tangram_adapter.messages import model_pb2

MIB = 2 ** 20
# Galvatron counts 4 times the parameters, with four bytes each.
STATES_PER_PARAMETER = 4
COLLECTIVE_SIZES_MIB = [2 ** i for i in range(11)]
EMBEDDING, TRANSFORMER, HEAD = (
    model_pb2.LayerSpec.EMBEDDING, model_pb2.LayerSpec.TRANSFORMER,
    model_pb2.LayerSpec.HEAD)


class Galvatron(tangram_adapter.Adapter):
    name = "galvatron-upstream"
    features = {"data_parallel", "pipeline_parallel", "tensor_parallel",
                "gradient_accumulation", "recompute", "zero"}

    def __init__(self, engine_module, layers_per_atom):
        self.version = f"1.{layers_per_atom}"
        self.engine_module = engine_module
        self.layers_per_atom = layers_per_atom

    def parallelize(self, query):
        layers = Layers(query)
        if layers.count == 0 or query.num_gpus & (query.num_gpus - 1):
            return tangram_adapter.no_plan(
                "Galvatron plans transformer layers on a power of two of GPUs")
        with tempfile.TemporaryDirectory() as folder, \
                contextlib.redirect_stdout(io.StringIO()):
            engine = self.start_engine(query, layers, folder)
            found = [self.ask(engine, query, *degrees)
                     for degrees in self.degrees(engine, query, layers)]
        plans = [plan_of(query, layers, result) for result in found
                 if result.get("strategy_list")]
        if not plans:
            return tangram_adapter.no_plan("Galvatron found none that fits")
        return tangram_adapter.answer(
            plans, search_steps=len(found),
            # Recomputation was chosen for this place in the pipeline.
            covers_trailing_stages=query.trailing_stages)

    def start_engine(self, query, layers, folder):
        settings = settings_of(query, folder)
        write_profiles(query, layers, folder, settings)
        engine = self.engine_module.GalvatronSearchEngine(settings)
        engine.set_search_engine_info(
            folder, [{"hidden_size": layers.hidden_size,
                      "layer_num": layers.count,
                      "seq_len": query.training.sequence_length}], "slice")
        engine.initialize_search_engine()
        # Upstream's unit, whole gigabytes, would be too coarse.
        engine.memory_constraint = int(query.device.memory_bytes / MIB)
        return engine

    @staticmethod
    def degrees(engine, query, layers):
        """Returns strategies that differ in more than recomputation."""
        return sorted({
            (s.pp_size, s.tp_size, s.dp_type) for s in engine.layer_strategy_list
            if s.pp_size <= query.num_microbatches
            and query.microbatch % s.dp_size == 0
            and layers.estimates(s.tp_size, s.dp_size) is not None})

    def ask(self, engine, query, pp, tp, dp_type):
        """Returns the engine's answer to one of its own tasks."""
        def is_asked(strategy):
            return (strategy.pp_size, strategy.tp_size,
                    strategy.dp_type) == (pp, tp, dp_type)

        narrowed = copy.copy(engine)
        narrowed.layer_strategy_list = list(
            filter(is_asked, engine.layer_strategy_list))
        narrowed.embedding_lmhead_strategy_list = list(
            filter(is_asked, engine.embedding_lmhead_strategy_list))
        with followed_by(query.trailing_stages):
            return narrowed.search_for_single_task(
                query.training.global_batch_size, query.num_microbatches, pp,
                tp, "tp_only")


class Layers:
    """The layers of a slice: an optional embedding, equal transformer layers,
    an optional head."""

    def __init__(self, query):
        self.query = query
        self.types = {}
        for layer_type in set(query.layers):
            kind = query.layer_types[layer_type].kind
            if kind in self.types:
                raise NotImplementedError("transformer layers of two shapes")
            self.types[kind] = layer_type
        self.count = query.layers.count(self.types.get(TRANSFORMER))
        self.hidden_size = query.layer_types[query.layers[0]].hidden_size

    def estimates(self, tp=1, dp=1):
        """Operators by kind of layer; None if the split is impossible."""
        found = {kind: self.query.estimate(layer_type, tp, dp)
                 for kind, layer_type in self.types.items()}
        if None in found.values():
            return None
        return {kind: estimate.operators for kind, estimate in found.items()}


def settings_of(query, folder):
    """Returns the settings that Galvatron's configuration files would hold."""
    path = os.path.join(folder, "")
    per_node = query.island.gpus_per_node
    fp32 = query.training.precision == query.training.FP32
    largest = SimpleNamespace(
        max_pp_deg=query.num_gpus, max_tp_deg=per_node, max_sp_deg=1,
        max_cp_deg=1)
    for name in ("dp", "tp", "pp", "ckpt", "fsdp", "embedding_lmhead_tp"):
        setattr(largest, f"disable_{name}", 0)
    for name in ("cp", "sp", "embedding_lmhead_sp"):
        setattr(largest, f"disable_{name}", 1)
    return SimpleNamespace(
        model_info=SimpleNamespace(
            hidden_size=query.layer_types[query.layers[0]].hidden_size),
        parallelism_info=SimpleNamespace(
            mixed_precision="fp32" if fp32 else "fp16", default_dp_type="ddp",
            async_grad_reduce=True, pipeline_type="pipedream_flush"),
        common_train_info=SimpleNamespace(
            sequence_parallel=True, global_memory_buffer=False),
        hardware_info=SimpleNamespace(
            num_nodes=query.island.num_nodes, num_gpus_per_node=per_node,
            memory_constraint=1),
        batch_size_info=SimpleNamespace(),
        search_space_info=largest,
        profiling_info=SimpleNamespace(
            memory_profiling_path=path, time_profiling_path=path,
            allreduce_bandwidth_config_path=path,
            p2p_bandwidth_config_path=path, overlap_coe_path=path,
            sp_time_path=path, time_profile_mode="static",
            memory_profile_mode="static"),
        options_info=SimpleNamespace(log_dir=folder, fine_grained_mode=1),
        debug_info=SimpleNamespace(debug_costmodel_coe=1.0))


def write_profiles(query, layers, folder, settings):
    """Writes the files that Galvatron's profilers write for a device."""
    precision = settings.parallelism_info.mixed_precision
    nodes = f"{query.island.num_nodes}nodes"
    suffix = f"{nodes}_{query.island.gpus_per_node}gpus_per_node.json"
    files = {
        f"computation_profiling_{precision}_slice_all.json":
            times_of(query, layers),
        f"memory_profiling_{precision}_slice_all.json":
            memory_of(query, layers),
        f"allreduce_bandwidth_{suffix}": rates_of(query),
        f"p2p_bandwidth_{suffix}": pipeline_rates_of(query),
        f"sp_time_{suffix}": collective_times_of(query),
        "overlap_coefficient.json": {
            "overlap_coe": 1 + query.device.efficiency.overlap_penalty}}
    for name, content in files.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            json.dump(content, file)


def degrees_up_to(limit):
    return [2 ** i for i in range(limit.bit_length()) if 2 ** i <= limit]


def times_of(query, layers):
    """Returns the forward pass of one sample on one GPU, in ms."""
    ours = layers.estimates()
    sample_ms = {kind: sum(op.forward_s for op in operators) * 1e3
                 / query.microbatch for kind, operators in ours.items()}
    key = f"bsz{query.microbatch}_seq{query.training.sequence_length}"
    return {f"layertype_0_{key}": sample_ms[TRANSFORMER],
            f"layertype_other_{key}": sum(
                sample_ms.get(kind, 0) for kind in (EMBEDDING, HEAD))}


def memory_of(query, layers):
    """Returns the MiB of a GPU: model state, and activations of one sample.
    Estimates assume no sequence parallelism, so they exceed the true values."""
    growth = 1 + query.device.efficiency.fragmentation
    state = query.request.estimates.state_bytes_per_parameter * growth / MIB
    tps = [tp for tp in degrees_up_to(query.island.gpus_per_node)
           if layers.estimates(tp) is not None]

    def kept(tp, kind):
        operators = layers.estimates(tp).get(kind, [])
        return (sum(op.saved_bytes for op in operators) / query.microbatch
                * growth / MIB)

    def states(tp, kind):
        operators = layers.estimates(tp).get(kind, [])
        return sum(op.parameters for op in operators) * state

    def others(*kinds):
        return {query.training.sequence_length: {
            what: {tp: sum(of(tp, kind) for kind in kinds) for tp in tps}
            for what, of in (("model_states", states), ("activation", kept))}}

    first = layers.estimates()[TRANSFORMER][0]
    return {
        "layertype_0_sp": {query.training.sequence_length: {
            "parameter_size": states(1, TRANSFORMER) / STATES_PER_PARAMETER,
            "tp_activation_per_bsz_dict": {
                **{tp: kept(tp, TRANSFORMER) for tp in tps},
                "checkpoint": first.input_bytes / query.microbatch * growth
                              / MIB}}},
        "other_memory_pp_off_sp": others(EMBEDDING, HEAD),
        "other_memory_pp_on_first_sp": others(EMBEDDING),
        "other_memory_pp_on_last_sp": others(HEAD)}


def link_of(query, size):
    """Returns the GB/s between neighbouring GPUs of a group of that size."""
    if size <= query.island.gpus_per_node:
        return query.island.intra_node.bandwidth_bytes_per_s / 1e9
    return query.island.inter_node.bandwidth_bytes_per_s / 1e9


def rates_of(query):
    """Returns the GB/s of an all-reduce. Groups of GPUs that are not
    consecutive share a node's network."""
    rates = {}
    for size in degrees_up_to(query.num_gpus)[1:]:
        rates[f"allreduce_size_{size}_consec_1"] = link_of(query, size)
        spread = link_of(query, query.num_gpus)
        if query.island.num_nodes > 1:
            spread /= query.island.gpus_per_node
        rates[f"allreduce_size_{size}_consec_0"] = spread
    return rates


def pipeline_rates_of(query):
    link = (query.island.inter_node if query.island.num_nodes > 1
            else query.island.intra_node)
    return {f"pp_size_{size}": link.pair_bandwidth_bytes_per_s / 1e9
            for size in degrees_up_to(query.num_gpus)[1:]}


def collective_times_of(query):
    """Returns the ms of a ring all-reduce inside a node."""
    link = query.island.intra_node
    return {
        f"allreduce_size_{size}_{mib}MB_time": 1e3 * 2 * (size - 1) * (
            mib * MIB / size / link.bandwidth_bytes_per_s + link.latency_s)
        for size in degrees_up_to(query.island.gpus_per_node)[1:]
        for mib in COLLECTIVE_SIZES_MIB}


@contextlib.contextmanager
def followed_by(trailing_stages):
    """Lets stages follow Galvatron's pipelines, which otherwise end with the
    model. Each stage then holds as many more microbatches."""
    from galvatron.core.cost_model.components.layer_cost import (
        MemoryCostModelBase)
    initialize = MemoryCostModelBase.initialize

    def initialize_in_place(self):
        initialize(self)
        self.cumulative_num = min(self.cumulative_num + trailing_stages,
                                  self.chunks)
        self.cumulative_lbsz = self.cumulative_num * self.lbsz

    with mock.patch.object(MemoryCostModelBase, "initialize",
                           initialize_in_place):
        yield


def plan_of(query, layers, result):
    """Converts a result. Strategies are of transformer layers; the embedding
    goes to the first stage and the head to the last."""
    zero = {"ddp": 0, "zero2": 2, "zero3": 3}
    before = query.layers.index(layers.types[TRANSFORMER])
    strategies = result["strategy_list"]
    recompute = [0] * before + [
        query.whole_layer(layers.types[TRANSFORMER]) if s.checkpoint else 0
        for s in strategies]
    recompute += [0] * (len(query.layers) - len(recompute))
    cuts = [0]
    for count in result["pp_stage_list"][:-1]:
        cuts.append(max(cuts[-1], before) + int(count))
    cuts.append(len(query.layers))
    return tangram_adapter.plan(
        tangram_adapter.stage(
            begin, end, tp=strategies[0].tp_size, dp=strategies[0].dp_size,
            zero=zero[strategies[0].dp_type.value],
            sequence_parallel=strategies[0].tp_size > 1,
            recompute=recompute[begin:end])
        for begin, end in zip(cuts, cuts[1:]))


def load_engine(checkout):
    """Loads the search engine without the parts of Galvatron that train."""
    for name in ("torch", "torch.utils", "torch.utils.data",
                 "torch.utils.data.distributed", "pydantic", "rich",
                 "rich.pretty", "galvatron.utils.memory_utils",
                 "galvatron.utils.training_utils",
                 "galvatron.utils.hf_config_adapter"):
        sys.modules[name] = mock.MagicMock(__all__=[])
    schema = ModuleType("galvatron.core.search_engine.args_schema")
    schema.GalvatronSearchArgs = SimpleNamespace
    sys.modules[schema.__name__] = schema
    sys.path.insert(0, checkout)
    # pylint: disable=import-error,import-outside-toplevel,unused-import
    import galvatron_dp_core
    from galvatron.core.search_engine import search_engine
    silent = logging.getLogger("galvatron")
    silent.addHandler(logging.NullHandler())
    silent.propagate = False
    search_engine.get_thread_logger_single_task = lambda *task: silent
    return search_engine


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkout", required=True)
    parser.add_argument("--layers-per-atom", type=int, default=4)
    options = parser.parse_args()
    try:
        engine_module = load_engine(os.path.abspath(options.checkout))
    except ImportError as error:
        parser.error(f"--checkout {options.checkout}: {error}")
    tangram_adapter.serve(Galvatron(engine_module, options.layers_per_atom))


if __name__ == "__main__":
    main()
