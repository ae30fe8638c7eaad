"""Alpa's own code assigns the exported hosts to their stages."""

import ast
import importlib.util
import sys
import types
import unittest

import upstream


class Mesh:
    """The part of Alpa's VirtualPhysicalMesh that the function below needs."""

    def __init__(self, num_hosts, num_devices_per_host):
        self.num_hosts = num_hosts
        self.num_devices_per_host = num_devices_per_host
        self.num_devices = num_hosts * num_devices_per_host

    def slice_2d(self, hosts, devices):
        return list(hosts), [list(of_host) for of_host in devices]


def load_slicing():
    """Extracts get_sliced_virtual_submeshes, since its module needs JAX."""
    if importlib.util.find_spec("numpy") is None:
        raise unittest.SkipTest("no Python package numpy")
    import numpy
    path = (f"{upstream.checkout('alpa')}/alpa/pipeline_parallel/"
            "stage_construction.py")
    with open(path, encoding="utf-8") as f:
        tree = ast.parse(f.read())
    tree.body = [node for node in tree.body
                 if isinstance(node, ast.FunctionDef)
                 and node.name == "get_sliced_virtual_submeshes"]
    names = {"np": numpy}
    exec(compile(tree, path, "exec"), names)
    return names["get_sliced_virtual_submeshes"]


class AlpaStages(upstream.Exports):

    @classmethod
    def setUpClass(cls):
        cls.slice_mesh = staticmethod(load_slicing())
        super().setUpClass()

    def stages(self, folder):
        """Runs alpa_stages.py with Alpa's classes as plain records."""
        record = types.SimpleNamespace
        module = upstream.stub_module(
            "alpa", ManualStageOption=record, AutoLayerOption=record,
            PipeshardParallel=record)
        self.assertIs(sys.modules["alpa"], module)
        names = {}
        exec(upstream.read(folder, "alpa_stages.py"), names)
        return names

    def hosts_of_stages(self, plan):
        return self.hosts_in(self.export("alpa", plan, "--allow-lossy"))

    def hosts_in(self, folder):
        names = self.stages(folder)
        option = names["stage_option"]
        slots = upstream.read(folder, "hostfile").split()[1]
        meshes = self.slice_mesh(
            Mesh(len(names["hosts"]), int(slots.removeprefix("slots="))),
            option.submesh_physical_shapes)
        return [[names["hosts"][host] for host in hosts]
                for hosts, _ in meshes], option

    def check(self, folder, plan):
        hosts, option = self.hosts_in(folder)
        stages = plan["plan"]["stages"]
        self.assertEqual(hosts, [[gpu["node"] for gpu in stage["gpus"]]
                                 for stage in stages])
        layers = [layer for ids in option.forward_stage_layer_ids
                  for layer in ids]
        self.assertEqual(layers, list(range(len(layers))))

    def test_plans_of_the_table(self):
        upstream.check_table(self, "alpa", self.check)

    def test_stages_get_their_own_hosts(self):
        hosts, option = self.hosts_of_stages(self.two_islands())
        self.assertEqual(hosts, [["t4-0", "t4-1"], ["v100-0", "v100-1"]])
        self.assertEqual(option.submesh_logical_shapes, [(2, 4), (4, 2)])
        self.assertEqual([len(ids) for ids in option.forward_stage_layer_ids],
                         [5, 11])

    def test_parts_of_hosts_are_the_right_hosts(self):
        plan = self.two_islands()
        plan["plan"]["stages"] = [
            upstream.stage(0, 6, 2, 1, [("t4-0", 0, 2)]),
            upstream.stage(6, 9, 2, 1, [("t4-0", 2, 2)]),
            upstream.stage(9, 18, 2, 2, [("v100-0", 0, 4)])]
        hosts, _ = self.hosts_of_stages(plan)
        self.assertEqual(hosts, [["t4-0"], ["t4-0"], ["v100-0"]])


if __name__ == "__main__":
    upstream.main()
