"""The Python package for callers, without a coordinator.

Usage: tangram_client_test.py <repository root> <generated messages>
"""

import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock
from xml.etree import ElementTree

ROOT, MESSAGES = (pathlib.Path(argument) for argument in sys.argv[1:3])
sys.path.append(str(ROOT / "tests/testing"))
import report_skips  # noqa: E402
HAS_GRPC = all(importlib.util.find_spec(name) for name in ("grpc", "google"))
if HAS_GRPC:
    sys.path[:0] = [str(MESSAGES), str(ROOT / "clients/python")]
    import grpc
    import tangram_client
    from tangram_client.errors import error_of
    from tangram_client.jobs import Job, JobState, Progress
    from tangram_client.messages import (job_service_pb2, plan_pb2,
                                         planner_service_pb2)

SVG = "{http://www.w3.org/2000/svg}"
WHY_NOT = "python3-grpcio or python3-protobuf is not installed"


def two_stages():
    """A quarter of 8 layers on two T4 of island 0, the rest on a V100."""
    file = plan_pb2.PlanFile(format_version="tangram.plan/v1")
    file.cluster.name = "small"
    file.cluster.devices.add(type="T4")
    file.cluster.devices.add(type="V100")
    file.cluster.nodes.add(device=0, num_gpus=2, names=["t4-0"])
    file.cluster.nodes.add(device=1, num_gpus=1, names=["v100-0"])
    file.model.name = "toy"
    for layer_type, count in enumerate((1, 6, 1)):
        file.model.layers.add(layer_type=layer_type, count=count)
    file.training.global_batch_size = 16
    file.islands.add(name="T4 x2")
    file.islands.add(name="V100 x1")
    file.plan.pipeline_microbatch_size = 4
    for island, (node, count, begin, end) in enumerate(
            (("t4-0", 2, 0, 2), ("v100-0", 1, 2, 8))):
        stage = file.plan.stages.add(island=island, made_by="hand")
        stage.gpus.add(node=node, first=0, count=count)
        stage.plan.begin.layer, stage.plan.end.layer = begin, end
        stage.plan.parallelism.tp_degree = 1
        stage.plan.parallelism.dp_degree = count
        stage.plan.parallelism.cp_degree = 1
        stage.plan.parallelism.ep_degree = 1
        file.evaluation.stages.add(forward_s=0.1, backward_s=0.2,
                                   peak_bytes=8e9, capacity_bytes=16e9)
    file.evaluation.iteration_time_s = 1.5
    return file


def example(name):
    return ROOT / "examples/plans" / name


def no_plan():
    file = plan_pb2.PlanFile(format_version="tangram.plan/v1")
    file.model.name = "toy"
    file.infeasible.reason = "too <big>"
    file.infeasible.bytes_short = 3e9
    return tangram_client.Plan(file)


@unittest.skipUnless(HAS_GRPC, WHY_NOT)
class ErrorsTest(unittest.TestCase):

    def field(self, message):
        return error_of(grpc.StatusCode.INVALID_ARGUMENT, message).field

    def test_kinds_are_told_apart(self):
        kinds = ((grpc.StatusCode.INVALID_ARGUMENT, tangram_client.BadInput),
                 (grpc.StatusCode.NOT_FOUND, tangram_client.NotFound),
                 (grpc.StatusCode.UNAUTHENTICATED, tangram_client.Denied),
                 (grpc.StatusCode.UNAVAILABLE, tangram_client.Unavailable),
                 (grpc.StatusCode.INTERNAL, tangram_client.Failed))
        for code, kind in kinds:
            error = error_of(code, "why")
            self.assertIs(type(error), kind)
            self.assertEqual((str(error), error.code), ("why", code))
        # As jobs and the command say it.
        self.assertIs(type(error_of(5, "")), tangram_client.NotFound)
        self.assertIs(type(error_of("DEADLINE_EXCEEDED", "")),
                      tangram_client.DeadlineExceeded)
        self.assertIs(type(error_of(99, "")), tangram_client.Failed)

    def test_a_lost_connection_may_be_tried_again(self):
        error = error_of(grpc.StatusCode.UNKNOWN, "Stream removed")
        self.assertIs(type(error), tangram_client.Unavailable)
        self.assertEqual(error.code, grpc.StatusCode.UNAVAILABLE)

    def test_the_path_of_the_field_is_known(self):
        self.assertEqual(
            self.field("cluster.nodes[3].num_gpus: 0; expected a positive "
                       "integer"), "cluster.nodes[3].num_gpus")
        self.assertEqual(
            self.field("c1.yaml: groups[1].nodes: 0; expected a number: one"),
            "c1.yaml: groups[1].nodes")
        self.assertEqual(self.field("something went wrong"), "")


@unittest.skipUnless(HAS_GRPC, WHY_NOT)
class AccessTest(unittest.TestCase):

    def fails(self, message, **options):
        with self.assertRaisesRegex(tangram_client.BadInput, message):
            tangram_client.Access(**options).channel()

    def test_options_come_from_the_environment_too(self):
        with mock.patch.dict(os.environ, {"TANGRAM_TLS_CA": "a.pem",
                                          "TANGRAM_TOKEN_FILE": ""}):
            access = tangram_client.Access("host:1")
            self.assertEqual((access.tls_ca, access.token_file),
                             ("a.pem", None))
            self.assertEqual(
                tangram_client.Access("host:1", tls_ca="b.pem").tls_ca, "b.pem")

    def test_tokens_do_not_travel_in_plain_text(self):
        self.fails("token_file: would be sent to host:1 in plain text",
                   address="host:1", token_file="t")
        for fine in (dict(address="127.0.0.1:1"), dict(address="[::1]:1"),
                     dict(address="host:1", allow_plaintext_token=True)):
            tangram_client.Access(token_file="t", **fine).channel().close()

    def test_certificates_are_checked(self):
        self.fails("tls_cert: expected tls_key", address="host:1",
                   tls_cert="c", tls_ca="ca")
        self.fails("tls_cert: needs tls_ca", address="host:1", tls_cert="c",
                   tls_key="k")
        self.fails("tls_ca: /no/such: No such file", address="host:1",
                   tls_ca="/no/such")

    def test_the_token_is_read_for_every_call(self):
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:
            access = tangram_client.Access("127.0.0.1:1", token_file=file.name)
            for token in "first", "second":
                file.seek(0)
                file.truncate()
                file.write(token + "\n")
                file.flush()
                self.assertEqual(access.metadata(),
                                 [("authorization", "Bearer " + token)])


@unittest.skipUnless(HAS_GRPC, WHY_NOT)
class PlanTest(unittest.TestCase):

    def test_stages_are_typed(self):
        first, last = tangram_client.Plan(two_stages()).stages
        self.assertEqual((first.layers, last.layers), ("emb-1", "2-head"))
        self.assertEqual((first.share, last.share), (2 / 8, 6 / 8))
        self.assertEqual(first.gpus, (tangram_client.Gpus("t4-0", 0, 2),))
        self.assertEqual(str(first.gpus[0]), "t4-0:0-1")
        self.assertEqual(str(last.gpus[0]), "v100-0:0")
        self.assertEqual((first.gpu_type, last.gpu_type), ("T4", "V100"))
        self.assertEqual((first.num_gpus, first.dp), (2, 2))
        # 4 samples over two replicas and over one.
        self.assertEqual((first.microbatch_size, last.microbatch_size), (2, 4))
        self.assertAlmostEqual(first.microbatch_s, 0.3)

    def test_cuts_are_named_as_by_the_command(self):
        file = two_stages()
        for cut in file.plan.stages[0].plan.end, file.plan.stages[1].plan.begin:
            cut.layer, cut.op, cut.before = 3, 5, "mlp_norm"
        first, last = tangram_client.Plan(file).stages
        self.assertEqual((first.layers, last.layers), ("emb-3.5", "3.5-head"))
        file.plan.stages[1].plan.begin.before = "mlp_up"
        self.assertEqual(tangram_client.Plan(file).stages[1].layers, "3+5-head")

    def test_no_plan_fits_is_an_answer(self):
        plan = no_plan()
        self.assertFalse(plan)
        self.assertEqual(plan.infeasible,
                         tangram_client.Infeasible("too <big>", 3e9))
        self.assertEqual(plan.stages, ())
        self.assertTrue(tangram_client.Plan(two_stages()))
        self.assertIsNone(tangram_client.Plan(two_stages()).infeasible)

    def test_several_pipelines_are_typed(self):
        plan = tangram_client.Plan.load(example("two-pipelines.json"))
        self.assertTrue(plan.fits)
        self.assertIsNone(plan.infeasible)
        self.assertEqual(plan.sync, "all-reduce")
        first, last = plan.pipelines
        self.assertEqual((first.samples, last.samples), (50, 14))
        self.assertEqual(last.batch_fraction, 14 / 64)
        self.assertEqual((first.schedule, first.state_fraction), ("1f1b", 0))
        self.assertEqual([s.gpu_type for s in last.stages], ["T4"] * 4)
        self.assertEqual(len(plan.stages), 8)
        self.assertEqual((plan.num_microbatches, plan.microbatch_size), (64, 1))
        self.assertIn("2 pipelines, 8 stages", repr(plan))

    def test_a_plan_of_one_pipeline_has_one(self):
        plan = tangram_client.Plan(two_stages())
        (pipeline,) = plan.pipelines
        self.assertEqual(pipeline.stages, plan.stages)
        self.assertEqual((pipeline.num_microbatches, pipeline.batch_fraction),
                         (4, 1))
        self.assertEqual(pipeline.alone_s, plan.iteration_time_s)
        self.assertEqual(plan.sync, "")
        self.assertEqual(no_plan().pipelines, ())

    def test_groups_of_mixed_stages_are_typed(self):
        plan = tangram_client.Plan.load(example("mixed-stages.json"))
        (pipeline,) = plan.pipelines
        self.assertEqual(pipeline.warm_up_passes, (4, 1))
        routed, lock_step = plan.stages
        self.assertEqual((routed.sharing, routed.tp), ("routed", 1))
        self.assertEqual(lock_step.sharing, "lock-step")
        fast, slow = routed.groups
        self.assertEqual((fast.gpu_type, slow.gpu_type), ("V100-16", "T4"))
        self.assertEqual((fast.tp, fast.num_gpus), (2, 2))
        self.assertEqual(str(slow.gpus[0]), "t4-0:0-1")
        # Routed groups take whole microbatches of 4 samples, others samples of
        # all 16 microbatches.
        self.assertEqual([(g.samples, g.num_microbatches)
                          for g in routed.groups + lock_step.groups],
                         [(4, 12), (4, 4), (3, 16), (1, 16)])
        self.assertEqual(tangram_client.Plan(two_stages()).stages[0].groups, ())

    def test_files_are_read_back(self):
        plan = tangram_client.Plan(two_stages())
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "plan.json")
            plan.save(path)
            self.assertEqual(tangram_client.Plan.load(path).message,
                             plan.message)

    def test_files_of_other_formats_are_refused(self):
        for text, message in (
                ('{"format_version": "tangram.plan/v2", "new": 1}',
                 'x: format_version: "tangram.plan/v2"; expected'),
                ("{}", 'x: format_version: ""; expected'),
                ('{"format_version": "tangram.plan/v1", "new": 1}', "x: .*new"),
                ("{", "x: ")):
            with self.assertRaisesRegex(tangram_client.BadInput, message):
                tangram_client.Plan.from_json(text, "x")

    def test_another_request_for_the_same_needs_no_files(self):
        file = two_stages()
        file.provenance.parallelizer = "aceso 1"
        request = tangram_client.request_like(tangram_client.Plan(file))
        self.assertEqual((request.cluster, request.model, request.training,
                          request.parallelizer),
                         (file.cluster, file.model, file.training, "aceso"))
        self.assertFalse(request.HasField("constraints"))

    def test_another_request_is_for_the_same_runtime(self):
        file = two_stages()
        file.provenance.parallelizer = "aceso 1, mist 1"
        file.constraints.runtime = "auto"
        request = tangram_client.request_like(tangram_client.Plan(file))
        self.assertEqual((request.parallelizer, request.constraints.runtime),
                         ("auto", "auto"))


@unittest.skipUnless(HAS_GRPC, WHY_NOT)
class PictureTest(unittest.TestCase):

    def draw(self, plan):
        return ElementTree.fromstring(plan._repr_svg_())

    def test_stages_are_as_wide_as_their_layers(self):
        root = self.draw(tangram_client.Plan(two_stages()))
        boxes = [group.find(SVG + "rect") for group in root.iter(SVG + "g")]
        self.assertEqual([box.get("x") for box in boxes], ["10.0", "235.0"])
        # 2 and 6 of 8 layers take their shares of 900, less a gap of one.
        self.assertEqual([box.get("width") for box in boxes],
                         ["224.0", "674.0"])
        self.assertEqual(len({box.get("fill") for box in boxes}), 2)

    def test_pipelines_are_drawn_one_below_the_other(self):
        plan = tangram_client.Plan.load(example("two-pipelines.json"))
        root = self.draw(plan)
        boxes = [group.find(SVG + "rect") for group in root.iter(SVG + "g")]
        self.assertEqual([box.get("y") for box in boxes],
                         ["36.0"] * 4 + ["114.0"] * 4)
        self.assertIn("50 x 1 + 14 x 1 samples, all-reduce",
                      " ".join(root.itertext()))
        self.assertIn("<td>1: 3</td>", plan._repr_html_())

    def test_groups_of_a_mixed_stage_have_rows(self):
        plan = tangram_client.Plan.load(example("mixed-stages.json"))
        self.assertIn("tp2 + tp2", " ".join(self.draw(plan).itertext()))
        page = plan._repr_html_()
        for name in ("0.0", "0.1", "1.0", "1.1"):
            self.assertIn(f"<td>{name}</td>", page)

    def test_memory_that_does_not_fit_is_marked(self):
        file = two_stages()
        file.evaluation.stages[1].peak_bytes = 20e9
        first, last = [[rect.get("fill") for rect in group.iter(SVG + "rect")]
                       for group in
                       self.draw(tangram_client.Plan(file)).iter(SVG + "g")]
        self.assertNotIn("#d55e00", first)
        self.assertIn("#d55e00", last)

    def test_says_what_it_shows(self):
        text = " ".join(
            self.draw(tangram_client.Plan(two_stages())).itertext())
        for words in ("toy on small: 1.5 s an iteration", "2 x T4", "dp2",
                      "4 microbatches of 4", "T4 x2: stages 0",
                      "V100 x1: stages 1", "8.0/16.0 GB"):
            self.assertIn(words, text)

    def test_narrow_stages_have_no_text_that_sticks_out(self):
        file = two_stages()
        file.model.layers[1].count = 998
        for cut in file.plan.stages[1].plan.begin, file.plan.stages[0].plan.end:
            cut.layer = 1
        file.plan.stages[1].plan.end.layer = 1000
        narrow = next(self.draw(tangram_client.Plan(file)).iter(SVG + "g"))
        self.assertEqual(list(narrow.iter(SVG + "text")), [])
        self.assertIn("stage 0", narrow.find(SVG + "title").text)

    def test_why_there_is_none_is_told(self):
        text = " ".join(self.draw(no_plan()).itertext())
        self.assertIn("no plan fits: too <big>; 3 GB short per GPU", text)

    def test_hostile_names_stay_text(self):
        file = two_stages()
        file.cluster.name = file.islands[0].name = "</text><script>x</script>"
        file.cluster.nodes[0].names[0] = "<b>&\"'"
        file.plan.stages[0].gpus[0].node = "<b>&\"'"
        page = tangram_client.Plan(file)._repr_html_()
        self.assertNotIn("<script", page)
        self.assertNotIn("<b>", page)
        ElementTree.fromstring(f"<div>{page}</div>")

    def test_islands_that_nobody_named_have_a_colour(self):
        file = two_stages()
        for stage in file.plan.stages:
            stage.island = -1
        text = " ".join(self.draw(tangram_client.Plan(file)).itertext())
        self.assertIn("island not known: stages 0, 1", text)


@unittest.skipUnless(HAS_GRPC, WHY_NOT)
class JobTest(unittest.TestCase):

    def test_what_ended_a_job_is_an_error(self):
        message = job_service_pb2.Job(job_id="j",
                                      state=job_service_pb2.Job.FAILED)
        message.error.code, message.error.message = 3, "cluster: wrong"
        job = Job.of(message)
        self.assertIs(job.state, JobState.FAILED)
        self.assertIsInstance(job.error, tangram_client.BadInput)
        self.assertEqual(job.error.field, "cluster")
        self.assertIsNone(job.plan)
        message.state = job_service_pb2.Job.CANCELLED
        self.assertIsInstance(Job.of(message).error, tangram_client.Cancelled)

    def test_fields_that_were_not_asked_for_are_none(self):
        job = Job.of(job_service_pb2.Job(labels={"run": "7"}))
        self.assertEqual((job.state, job.error, job.labels),
                         (None, None, {"run": "7"}))
        for state in JobState.FAILED, JobState.CANCELLED:
            job = Job.of(job_service_pb2.Job(
                state=job_service_pb2.Job.State.Value(state.name)))
            self.assertEqual((job.state, job.error), (state, None))

    def test_times_that_are_not_yet_are_none(self):
        job = Job.of(job_service_pb2.Job(
            state=job_service_pb2.Job.RUNNING, submitted_s=5))
        self.assertEqual((job.submitted_s, job.started_s), (5, None))
        self.assertFalse(job.state.is_end)
        self.assertTrue(JobState.CANCELLED.is_end)

    def test_progress_is_typed(self):
        message = planner_service_pb2.PlanProgress(
            phase=planner_service_pb2.PlanProgress.SLICE_PLANS, pairs_done=1,
            pairs_total=2, num_workers=3)
        self.assertEqual(Progress.of(message),
                         Progress("slice_plans", 1, 2, None, 3))
        message.best_iteration_time_s = 4
        self.assertEqual(Progress.of(message).best_iteration_time_s, 4)


if __name__ == "__main__":
    report_skips.main(verbosity=2)
