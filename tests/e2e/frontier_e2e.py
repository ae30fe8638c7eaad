"""Runs `tangram frontier` as its users do."""

import csv
import io
import json

import harness
from daemons import Coordinator
from harness import BAD_INPUT, CLUSTER, Folder, MODEL, NO_PLAN

WHOLE = CLUSTER[:2]  # Without --nodes.
SEARCH = ["--runtime", "any", "--parallelizer", "uniform"]


def without_provenance(plan):
    plan = json.loads(plan)
    del plan["provenance"]  # Times, and the number of threads.
    return plan


class FrontierTest(Folder):

    def frontier(self, *arguments):
        return json.loads(self.tangram("frontier", *WHOLE, *MODEL, *SEARCH,
                                       "--format", "json", *arguments))

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
        self.assertEqual(
            self.frontier(*few, "--coordinator", coordinator.address),
            self.frontier(*few))

    def test_refusals_name_the_option(self):
        def refuses(message, *arguments):
            run = self.run_tangram("frontier", *WHOLE, *MODEL, *arguments)
            self.assertEqual((run.returncode, run.stdout), (BAD_INPUT, ""))
            self.assertIn(message, run.stderr)

        refuses("nodes: x; expected one of the groups", "--nodes", "x=1")
        refuses("--nodes: none in any allocation", "--nodes", "t4=0,v100=0")
        refuses("nodes: t4=0..99; expected ascending", "--nodes", "t4=0..99")
        refuses("--prices: no v100; expected", "--prices", "t4=1")
        refuses("--prices: t4=-1; expected", "--prices", "t4=-1,v100=1")
        refuses("--deadline: needs --tokens", "--deadline", "1")
        refuses("--budget: needs --tokens and --prices", "--budget", "1")
        run = self.run_tangram("frontier", *WHOLE, "--model", "gpt3-175b",
                               "--global-batch", "4", "--nodes", "t4=1,v100=0",
                               *SEARCH)
        self.assertEqual((run.returncode, run.stderr), (NO_PLAN, ""))
        self.assertIn("Without a plan", run.stdout)


if __name__ == "__main__":
    harness.main()
