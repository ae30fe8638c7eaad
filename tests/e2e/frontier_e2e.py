"""Runs `tangram frontier` as its users do."""

import csv
import io
import json

import harness
from daemons import Coordinator
from harness import BAD_INPUT, CLUSTER, DEADLINE, Folder, MODEL, NO_PLAN

WHOLE = CLUSTER[:2]  # Without --nodes.
SEARCH = ["--runtime", "any", "--parallelizer", "uniform"]


def without_provenance(plan):
    plan = json.loads(plan)
    del plan["provenance"]  # Times, and the number of threads.
    return plan


class FrontierTest(Folder):

    def frontier(self, *arguments):
        return self.json_answer("frontier", *WHOLE, *MODEL, *SEARCH, *arguments)

    def test_each_plan_is_that_of_plan_with_nodes(self):
        answer = self.frontier("--nodes", "t4=0..2,v100=0|2", "-o", "out")
        self.assertEqual(answer["format_version"], "tangram.frontier/v1")
        points = answer["allocations"]
        self.assertEqual([(p["nodes"]["t4"], p["nodes"]["v100"])
                          for p in points],
                         [(0, 2), (1, 0), (1, 2), (2, 0), (2, 2)])
        for point in points:
            nodes = f"t4={point['nodes']['t4']},v100={point['nodes']['v100']}"
            self.tangram("plan", *WHOLE, *MODEL, *SEARCH, "--nodes", nodes,
                         "--quiet", "--output", "alone.json")
            alone = without_provenance(self.read("alone.json"))
            self.assertEqual(without_provenance(self.read(f"out/{nodes}.json")),
                             alone)
            self.assertEqual(alone["evaluation"]["iteration_time_s"],
                             point["iteration_time_s"])
            within = [p["iteration_time_s"] for p in points
                      if all(p["nodes"][g] <= point["nodes"][g]
                             for g in p["nodes"])]
            self.assertEqual(point["envelope_s"], min(within))

    def test_prices_choose_allocations(self):
        costs = ["--nodes", "t4=0..1,v100=0..1", "--prices", "t4=1,v100=9",
                 "--tokens", "1e8", "--planner-option", "polish=false"]
        answer = self.frontier(*costs, "--deadline", "1e6", "--budget", "1e-6")
        points = answer["allocations"]
        for point in points:
            hours = 1e8 / point["tokens_per_s"] / 3600
            price = point["nodes"]["t4"] + 9 * point["nodes"]["v100"]
            self.assertAlmostEqual(point["hours"], hours)
            self.assertAlmostEqual(point["price_per_million_tokens"],
                                   hours * price / 100)
        cheapest = min(points, key=lambda p: p["price_per_million_tokens"])
        self.assertEqual(answer["choices"]["cheapest"], cheapest["nodes"])
        self.assertEqual(answer["choices"]["in_time"], cheapest["nodes"])
        self.assertIsNone(answer["choices"]["within_budget"])
        text = self.tangram("frontier", *WHOLE, *MODEL, *SEARCH, *costs,
                            "--csv", "-")
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([float(row["iteration_time_s"]) for row in rows],
                         [p["iteration_time_s"] for p in points])
        table = self.tangram("frontier", *WHOLE, *MODEL, *SEARCH, *costs)
        self.assertRegex(table, r"(?m)^  least a token +t4=\d v100=\d")
        self.assertLessEqual(max(map(len, table.splitlines())), 100)

    def test_a_coordinator_answers_the_same(self):
        coordinator = Coordinator("--worker_wait_s=0")
        self.addCleanup(coordinator.end)
        few = ["--nodes", "t4=0..1,v100=0..1", "--planner", "megatron-uniform"]

        def known(answer):
            for point in answer["allocations"]:
                self.assertRegex(point.pop("plan_id"), "^[0-9a-f]{64}$")
            return answer.pop("from_cache", 0)

        here = self.frontier(*few)
        del here["slice_queries"]
        there = [*few, "--coordinator", coordinator.address]
        cold = self.frontier(*there)
        self.assertEqual((known(cold), cold), (0, here))
        # The same call, and another that shares allocations with it.
        self.assertEqual(known(self.frontier(*there)), 3)
        wider = self.frontier("--nodes", "t4=0..2,v100=0..1", *there[2:])
        self.assertEqual(known(wider), 3)
        self.assertEqual(len(wider["allocations"]), 5)
        # A plan is fetched by its id, and is that of this process.
        self.frontier(*there, "-o", "there")
        self.frontier(*few, "-o", "here")
        for name in ("t4=0,v100=1", "t4=1,v100=1"):
            self.assertEqual(
                without_provenance(self.read(f"there/{name}.json")),
                without_provenance(self.read(f"here/{name}.json")))

    def test_a_call_is_limited_as_a_plan_is(self):
        coordinator = Coordinator("--worker_wait_s=0", "--max_plan_s=1e-9")
        self.addCleanup(coordinator.end)
        run = self.run_tangram(
            "frontier", *WHOLE, *MODEL, *SEARCH, "--planner",
            "megatron-uniform", "--nodes", "t4=0..1,v100=0..1",
            "--coordinator", coordinator.address)
        self.assertEqual((run.returncode, run.stdout), (DEADLINE, ""))
        self.assertIn("--max_plan_s", run.stderr)

    def test_constraints_are_on_nodes_that_are_there(self):
        one = ["--planner-option", "polish=false", "--exclude-node", "t4-1",
               "--tp", "v100=1"]
        points = self.frontier("--nodes", "t4=1..2,v100=0..1", *one, "-o",
                               "out")["allocations"]
        self.assertEqual([p["state"] for p in points], ["planned"] * 4)
        # Where t4-1 is, it is left out.
        self.assertEqual([p["iteration_time_s"] for p in points[2:]],
                         [p["iteration_time_s"] for p in points[:2]])
        self.tangram("plan", *WHOLE, *MODEL, *SEARCH, *one, "--nodes",
                     "t4=1,v100=0", "--quiet", "--output", "alone.json")
        self.assertEqual(without_provenance(self.read("alone.json")),
                         without_provenance(self.read("out/t4=1,v100=0.json")))

    def test_each_answer_is_streamed_once(self):
        text = self.tangram("frontier", *WHOLE, *MODEL, *SEARCH, "--nodes",
                            "t4=0..2,v100=0", "--stream", "--planner-option",
                            "polish=false")
        lines = [json.loads(line) for line in text.splitlines()]
        self.assertEqual(sorted(line["nodes"]["t4"] for line in lines), [1, 2])
        self.assertTrue(all(line["iteration_time_s"] > 0 for line in lines))

    def test_other_terms_need_no_plans(self):
        quick = ["--planner", "megatron-uniform"]
        text = self.tangram("frontier", *WHOLE, *MODEL, *SEARCH, "--nodes",
                            "t4=0..2,v100=0..2", "--format", "json", *quick)
        self.write("frontier.json", text)
        self.write("prices.csv", "group,price,spot_price\r\n"
                   "t4,1,0.25\r\nv100,9,3\r\n")
        terms = ["--prices", "prices.csv", "--spot", "--tokens", "1e8",
                 "--failures", "t4=0.01,v100=0.02", "--checkpoint", "30",
                 "--restart", "120", "--carbon", "400", "--pue", "1.2"]
        again = json.loads(self.tangram(
            "frontier", "--from", "frontier.json", *terms, "--format", "json"))
        self.assertEqual(again["allocations"][0]["price_per_hour"], 3)
        planned = self.frontier("--nodes", "t4=0..2,v100=0..2", *quick, *terms)
        del planned["slice_queries"]
        self.assertEqual(again, planned)
        for point in again["allocations"]:
            rate = (0.01 * point["nodes"]["t4"] +
                    0.02 * point["nodes"]["v100"]) / 3600
            interval = (2 * 30 / rate) ** 0.5
            self.assertAlmostEqual(
                point["progress"],
                1 - 30 / interval - rate * (interval / 2 + 120))
            self.assertGreater(point["grams_co2_per_million_tokens"], 0)
        self.assertIn("least_energy", again["choices"])
        table = self.tangram("frontier", "--from", "frontier.json", *terms,
                             "--page", "page.html")
        self.assertIn("kWh/Mtoken", table)
        page = self.read("page.html")
        self.assertIn('"format_version":"tangram.frontier/v1"', page)
        self.assertNotIn("goes here", page)
        self.assertEqual(page, self.tangram("frontier", "--from",
                                            "frontier.json", *terms, "--page",
                                            "-"))

    def test_prices_come_from_skypilots_catalogue(self):
        answer = self.tangram("frontier", *WHOLE, *MODEL, *SEARCH, "--nodes",
                              "t4=1,v100=1", "--planner", "megatron-uniform",
                              "--format", "json")
        gpus = json.loads(answer)["gpus_per_node"]
        self.write("frontier.json", answer)
        devices = json.loads(answer)["devices"]
        self.assertEqual(devices, {"t4": "T4", "v100": "V100-16"})
        rows = ["InstanceType,vCPUs,MemoryGiB,AcceleratorName,AcceleratorCount,"
                "GPUInfo,Region,AvailabilityZone,Price,SpotPrice,Arch"]
        for name, accelerator, count, region, price, spot in (
                ("a", "T4", gpus["t4"], "near", 5, 2),
                ("b", "T4", gpus["t4"], "far", 4, ""),
                ("c", "T4", gpus["t4"] + 1, "far", 1, 1),
                ("d", "V100", gpus["v100"], "near", 20, 7),
                ("e", "V100-32GB", gpus["v100"], "near", 3, 3)):
            rows.append(f'{name},8,32,{accelerator},{count},"{{""x"": 1}}",'
                        f"{region},z,{price},{spot},x86_64")
        self.write("sky.csv", "\n".join(rows) + "\n")

        def price(*options):
            again = json.loads(self.tangram(
                "frontier", "--from", "frontier.json", "--prices", "sky.csv",
                "--format", "json", *options))
            return again["allocations"][0]["price_per_hour"]

        self.assertEqual(price(), 4 + 20)
        self.assertEqual(price("--region", "near"), 5 + 20)
        self.assertEqual(price("--spot"), 2 + 7)
        run = self.run_tangram("frontier", "--from", "frontier.json",
                               "--prices", "sky.csv", "--region", "far")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("no Price of v100 or of", run.stderr)

    def test_sets_name_allocations(self):
        quick = ["--planner", "megatron-uniform"]
        near = self.frontier("--set", "near:t4=1,v100=0", *quick)
        self.assertEqual([tuple(p["nodes"].values())
                          for p in near["allocations"]],
                         [(0, 1), (1, 0), (1, 1), (2, 0), (2, 1)])
        sia = self.frontier("--set", "sia", *quick)
        for point in sia["allocations"]:
            self.assertIn(0, point["nodes"].values())

    def test_cloud_instances_need_no_cluster_file(self):
        request = ["--model", "gpt3-1.3b", "--global-batch", "32",
                   "--planner", "megatron-uniform"]
        answer = json.loads(self.tangram(
            "frontier", "--nodes", "p3.16xlarge=0..1,g4dn.metal=1", *request,
            "--format", "json", "-o", "out"))
        self.assertEqual(len(answer["allocations"]), 2)
        self.tangram("plan", "--nodes", "g4dn.metal=1", *request, "--quiet",
                     "--output", "alone.json")
        self.assertEqual(
            without_provenance(self.read("alone.json")),
            without_provenance(
                self.read("out/p3.16xlarge=0,g4dn.metal=1.json")))

    def test_a_move_names_bytes_and_what_is_lost(self):
        quick = ["--planner", "megatron-uniform", "--quiet", "--output"]
        self.tangram("plan", *CLUSTER, *MODEL, *SEARCH, *quick, "old.json")
        same = self.json_answer("move", "old.json", "old.json")
        self.assertEqual(same["format_version"], "tangram.move/v1")
        self.assertEqual((same["moved_bytes"], same["checkpoint_bytes"],
                          same["seconds"]), (0, 0, 0))
        self.assertGreater(same["kept_bytes"], 1e9)
        nodes = [node["node"] for node in same["nodes"]]
        lost = [argument for node in nodes for argument in ("--lost", node)]
        gone = self.json_answer("move", "old.json", "old.json", *lost)
        # One replica reads the checkpoint, the others fetch from it.
        self.assertEqual(gone["kept_bytes"], 0)
        self.assertGreater(gone["checkpoint_bytes"], 1e9)
        self.assertAlmostEqual(gone["checkpoint_bytes"] + gone["moved_bytes"],
                               gone["needed_bytes"], delta=1)
        self.assertIn("checkpoint",
                      self.tangram("move", "old.json", "old.json", *lost))
        run = self.run_tangram("move", "old.json", "old.json", "--lost", "x")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("--lost: x; expected a node of old.json", run.stderr)

    def test_advice_is_of_frontiers_and_plans(self):
        text = self.tangram("frontier", *WHOLE, *MODEL, *SEARCH, "--nodes",
                            "t4=0..2,v100=0..2", "--format", "json",
                            "--planner", "megatron-uniform", "-o", "out")
        self.write("job.json", text)
        advice = self.json_answer(
            "advise", "job.json", "3*job.json", "--base", "t4=1,v100=1",
            "--prices", "t4=1,v100=9", "--plan", "out/t4=1,v100=1.json")
        by_nodes = {tuple(p["nodes"].values()): p
                    for p in json.loads(text)["allocations"]}
        tokens = json.loads(text)["tokens_per_iteration"]

        def worth(t4, v100):
            return 4 * tokens / by_nodes[t4, v100]["envelope_s"]

        v100 = advice["groups"][1]
        self.assertEqual((v100["group"], v100["base"]), ("v100", 1))
        self.assertAlmostEqual(v100["stairs"][2]["tokens_per_s_per_price"],
                               (worth(1, 2) - worth(1, 1)) / 9)
        self.assertTrue(advice["plan"]["twice_as_fast"])
        self.assertLess(advice["plan"]["twice_as_fast"][0]["iteration_time_s"],
                        advice["plan"]["iteration_time_s"])
        self.assertIn("What binds", self.tangram(
            "advise", "--plan", "out/t4=1,v100=1.json"))

    def test_refusals_name_the_option(self):
        def refuses(message, *arguments):
            run = self.run_tangram("frontier", *WHOLE, *MODEL, *arguments)
            self.assertEqual((run.returncode, run.stdout), (BAD_INPUT, ""))
            self.assertIn(message, run.stderr)

        # Lattices.
        refuses("nodes: x; expected one of the groups", "--nodes", "x=1")
        refuses("--nodes: none in any allocation", "--nodes", "t4=0,v100=0")
        refuses("nodes: t4=0..99; expected ascending", "--nodes", "t4=0..99")
        refuses("nodes: t4=2..1; expected ascending", "--nodes", "t4=2..1")
        refuses("nodes: t4; expected <group>=<numbers>", "--nodes", "t4")
        refuses("nodes: t4=0..2:x2; expected <group>", "--nodes", "t4=0..2:x2")
        refuses("nodes: t4=0..2:0; expected <group>", "--nodes", "t4=0..2:0")
        refuses("nodes: t4=1|; expected <group>", "--nodes", "t4=1|")
        refuses("nodes: t4; expected each group once", "--nodes", "t4=1,t4=2")
        refuses("--set: y; expected near:", "--set", "y")
        refuses("--set: near:t4=0..1; expected one number", "--set",
                "near:t4=0..1")
        refuses("--set: gavel:0; expected gavel:", "--set", "gavel:0")
        refuses("--set: none in any allocation", "--set", "gavel:3")
        # Terms.
        refuses("--pue: 0.5; expected a number of at least 1", "--pue", "0.5")
        refuses("--prices: no v100; expected", "--prices", "t4=1")
        refuses("--page - excludes --stream", "--page", "-", "--stream")
        refuses("--prices: t4=-1; expected", "--prices", "t4=-1,v100=1")
        refuses("--spot: needs a file", "--spot", "--prices", "t4=1,v100=1")
        refuses("--failures: t4=x; expected", "--failures", "t4=x")
        refuses("--power: t4=9..1; expected", "--power", "t4=9..1")
        refuses("--checkpoint: needs --failures", "--checkpoint", "1")
        refuses("--certainty: needs --deadline", "--certainty", "0.9")
        refuses("--deadline: needs --tokens", "--deadline", "1")
        refuses("--budget: needs --tokens and --prices", "--budget", "1")
        self.write("bad.csv", "group,price\r\nt4,cheap\r\nv100,2\r\n")
        refuses("bad.csv: line 2: price: cheap; expected", "--prices",
                "bad.csv")
        self.write("bad.json", "{}")
        run = self.run_tangram("frontier", "--from", "bad.json")
        self.assertEqual(run.returncode, BAD_INPUT)
        self.assertIn("bad.json: format_version; expected", run.stderr)
        run = self.run_tangram("frontier", *WHOLE, "--model", "gpt3-175b",
                               "--global-batch", "4", "--nodes", "t4=1,v100=0",
                               *SEARCH)
        self.assertEqual((run.returncode, run.stderr), (NO_PLAN, ""))
        self.assertIn("Without a plan", run.stdout)


if __name__ == "__main__":
    harness.main()
