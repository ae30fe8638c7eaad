#!/usr/bin/python3
"""Breaks the service in one place at a time and expects a test to fail.

usage: mutations.py BUILD [--only NAME]... [--list]

BUILD is a build folder of this checkout for the sources that are broken, such as a
scratch worktree's: the script changes sources, builds one test and restores them. It
refuses a checkout with changes. Each line says which test caught the mutation. Exit code
1: one was not caught, or a test fails without it."""

import argparse
import dataclasses
import os
import subprocess
import sys

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))))


@dataclasses.dataclass(frozen=True)
class Mutation:
    name: str
    file: str
    old: str
    new: str
    target: str  # The test program, or the daemon that an e2e test runs.
    test: str    # A filter of gtest, or "FILE.py CLASS.TEST".


STORE = "coordinator/store/"
MUTATIONS = [
    Mutation("commits are not synced", STORE + "sqlite_database.cc",
             '"PRAGMA synchronous = FULL;"', '"PRAGMA synchronous = OFF;"',
             "store_test", "SqliteDatabaseTest.EachCommit*"),
    Mutation("rows need no seal", STORE + "job_row.cc",
             "if (Holds(row_seal, RowSeal(job), seals)) return absl::OkStatus();",
             "if (Holds(row_seal, RowSeal(job), seals) || true) return absl::OkStatus();",
             "store_test", "*DamagedJobsTest*/sqlite"),
    Mutation("settings are not sealed", STORE + "job_row.cc",
             "if (!has_settings) return seal;", "if (!has_settings || true) return seal;",
             "store_test", "*JobTablesTest*/sqlite"),
    Mutation("an attempt is no part of a lease", STORE + "sql_job_store.cc",
             "AND owner = ?2 AND num_attempts = ?3 AND state = 1",
             "AND owner = ?2 AND ?3 = ?3 AND state = 1",
             "store_test", "*AnOldLeaseIsNone*/sqlite"),
    Mutation("leases never end", STORE + "sql_job_store.cc",
             '"(state = 0 OR (state = 1 AND NOT "', '"(state = 0 OR (state = 9 AND NOT "',
             "store_test", "*AJobWhoseLeaseHasEnded*/sqlite"),
    Mutation("progress of lost leases is kept", STORE + "sql_job_store.cc",
             "TANGRAM_RETURN_IF_ERROR(CheckHeld(lease));", "",
             "store_test", "*AJobWhoseLeaseHasEnded*/sqlite"),
    Mutation("running jobs can be deleted", STORE + "change_job.cc",
             "if (!has_ended) {\n      return absl::Failed",
             "if (false) {\n      return absl::Failed",
             "store_test", "*OnlyAJobThatHasEndedIsDeleted/sqlite"),
    Mutation("deadlines are ignored", STORE + "change_job.cc",
             "deadline_s > 0 AND deadline_s <= ?1", "deadline_s < 0 AND deadline_s <= ?1",
             "store_test", "*AJobFailsAtItsDeadline/sqlite"),
    Mutation("a clock that jumps is believed", STORE + "delete_jobs.cc",
             "*now_s_ + kMaxForgetStepS", "*now_s_ + 1e12",
             "store_test", "*AClockThatJumps*/sqlite"),
    Mutation("any event makes losses good", STORE + "sql_job_store.cc",
             "if (losses == 0 || !is_further)",
             "if (losses == 0 || (!is_further && false))",
             "store_test", "*OnlyProgressMakesGood*/sqlite"),
    Mutation("erasing takes other tenants along", STORE + "delete_jobs.cc",
             "FROM jobs WHERE share_key = ?1 \"", "FROM jobs WHERE ?1 = ?1 \"",
             "store_test", "*AllJobsOfATenant*/sqlite"),
    Mutation("lists show other tenants", STORE + "read_job_list.cc",
             "if (!filter.tenant.empty()) {", "if (false) {",
             "store_test", "*TenantsAreListed*/sqlite"),
    Mutation("webhooks are told for ever", STORE + "job_events.cc",
             "due->tries < kMaxEventTries ?", "due->tries < 1000 ?",
             "store_test", "*AWebhookIsTriedOnly*/sqlite"),
    Mutation("a role is skipped", "coordinator/auth/method_roles.cc",
             'EraseTenant",\n            {.any_of = Roles() | Role::kOperate}',
             'EraseTenant",\n            {.any_of = plan_or_operate}',
             "auth_test", "AuthenticatorTest.*"),
    Mutation("roles are not checked", "coordinator/auth/authenticator.cc",
             "caller.roles.HasAny(access->any_of)", "true",
             "auth_test", "AuthenticatorTest.*"),
    Mutation("web tokens never expire", "coordinator/auth/web_token.cc",
             "if (now_s >= *expires_s + kLeewayS)",
             "if (now_s >= *expires_s + kLeewayS && false)",
             "auth_test", "WebToken*"),
    Mutation("a lost lease does not stop the job", "coordinator/jobs/job_runner.cc",
             "if (running != nullptr) running->is_lost = running->must_stop = true;\n  }\n  changed_",
             "if (running != nullptr) running->is_lost = false;\n  }\n  changed_",
             "jobs_test", "*"),
    Mutation("a job runs beyond its time", "coordinator/jobs/job_runner.cc",
             "options_.max_run_s > 0 &&", "false &&",
             "jobs_test", "*RunsForTooLong*"),
    Mutation("webhooks reach this machine by IPv6", "coordinator/webhooks/public_address.cc",
             "if (IN6_IS_ADDR_V4MAPPED(&address)) return IsPublic4(Read4(bytes + 12));",
             "if (IN6_IS_ADDR_V4MAPPED(&address)) return true;",
             "webhooks_test", "PublicAddress*"),
    Mutation("webhooks reach private networks", "coordinator/webhooks/post_webhook.cc",
             "if (!IsPublicAddress(address->addr)) return CURL_SOCKET_BAD;", "",
             "webhooks_test", "PostWebhook*"),
    Mutation("tenants share a key of webhooks", "coordinator/webhooks/webhook_signature.cc",
             "absl::StrCat(kKeyPurpose, tenant)",
             "absl::StrCat(kKeyPurpose, tenant.substr(tenant.size()))",
             "webhooks_test", "WebhookSignature*"),
    Mutation("a tenant names jobs of others", "coordinator/rpc/job_names.cc",
             "if (caller.roles.Has(Role::kOperate)) return name;", "return name;",
             "coordinator_test", "JobNamesTest.*"),
    Mutation("bytes kept have no limit", "coordinator/rpc/tenant_quota.cc",
             "usage.bytes >= limits_.max_stored_bytes", "false",
             "coordinator_test", "TenantQuotaTest.*"),
    Mutation("a tenant takes all memory", "coordinator/rpc/memory_budget.cc",
             "if (max_of_tenant_ == 0 || tenant.empty()) return true;", "return true;",
             "coordinator_test", "MemoryBudgetTest.*"),
    Mutation("tokens of pages fit any list", "coordinator/rpc/page_token.cc",
             "parts[1] != DigestOf(query) ||",
             "(parts[1] != DigestOf(query) && false) ||",
             "coordinator_test", "PageTokenTest.*"),
    Mutation("REST checks no roles", "coordinator/rest/rest_gateway.cc",
             "CheckMayCall(authenticator_, method, credentials);",
             "absl::OkStatus();",
             "tangram-coordinator", "rest_e2e.py SecuredTest.test_roles_and_tenants_are_those_of_grpc"),
    Mutation("a second caller hides behind the first", "common/http/micro_http.cc",
             'return absl::StrJoin(search.values, ", ");',
             'return search.values.empty() ? "" : search.values.front();',
             "tangram-coordinator", "rest_e2e.py SecuredTest.test_roles_and_tenants_are_those_of_grpc"),
    Mutation("refused callers come back at once", "coordinator/jobs/retry_times.cc",
             "next_s += options_.apart_s;", "next_s += 0;",
             "jobs_test", "RetryTimesTest.*"),
    Mutation("waiting jobs are tried at once", "coordinator/jobs/job_runner.cc",
             "tries_.NextDelayS(job.share_key)", "0",
             "jobs_test", "*OneAfterAnother*"),
    Mutation("an event settles that of a later end", STORE + "job_events.cc",
             "WHERE sequence = ?1 AND finished_s = ?2", "WHERE sequence = ?1 AND ?2 = ?2",
             "store_test", "*AnEventOfAnEarlierEnd*/sqlite"),
    Mutation("refused calls fill the record", "coordinator/rpc/refused_calls.cc",
             "if (!IsRefusal(call.code)) {", "if (!IsRefusal(call.code) || true) {",
             "coordinator_test", "RefusedCallsTest.*"),
    Mutation("an object may have any members", "coordinator/rest/transcode.cc",
             "++members.back() > kMaxMembers", "++members.back() > kMaxMembers * 100",
             "coordinator_test", "TranscodeTest.*"),
    Mutation("answers that wait are not counted", "common/http/api_server.cc",
             "if (handlers_.hold_answer) {", "if (false) {",
             "obs_test", "ApiServerTest.AnswersCount*"),
    Mutation("one account takes all connections", "common/http/api_server.cc",
             "if (of_account >= max_of_account_) return false;", "",
             "obs_test", "ApiServerTest.AnAccount*"),
    Mutation("others may read the state", "coordinator/main.cc",
             "umask(S_IRWXG | S_IRWXO);", "",
             "tangram-coordinator", "job_api_e2e.py CommandTest.test_nobody_else_reads_the_state"),
]


# The longest that a test may take, in seconds.
MOST_S = 300


def build(folder, target):
    run = subprocess.run(["nice", "-n", "10", "ninja", "-C", folder, target],
                         capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise SystemExit(f"{target} does not build:\n{run.stdout[-3000:]}")


def passes(folder, mutation):
    binaries = os.path.join(folder, "bin")
    if mutation.target.endswith("_test"):
        command = [os.path.join(binaries, mutation.target),
                   f"--gtest_filter={mutation.test}",
                   "--gtest_fail_fast"]
    else:
        file, test = mutation.test.split()
        command = ["/usr/bin/python3", os.path.join(SOURCE, "tests/e2e", file),
                   binaries, SOURCE, test]
    try:
        run = subprocess.run(["nice", "-n", "10", *command], capture_output=True,
                             text=True, check=False, timeout=MOST_S)
    except subprocess.TimeoutExpired:
        return False  # As ctest has it: the mutation may make the test wait for ever.
    # A filter that finds nothing would pass.
    none = "Running 0 tests" in run.stdout + run.stderr
    return run.returncode == 0 and not none


def read(mutation):
    """Returns the path and the text of the source, which must have the place."""
    path = os.path.join(SOURCE, mutation.file)
    with open(path, encoding="utf-8") as file:
        sound = file.read()
    if sound.count(mutation.old) != 1:
        raise SystemExit(f"{mutation.name}: {mutation.file} has "
                         f"{sound.count(mutation.old)} of {mutation.old!r}; "
                         "expected 1")
    return path, sound


def mutate(mutation):
    """Breaks the source. Returns what restores it."""
    path, sound = read(mutation)

    def write(text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    write(sound.replace(mutation.old, mutation.new))
    return lambda: write(sound)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    chosen = [m for m in MUTATIONS if not options.only or any(
        part in (m.name, m.target) for part in options.only)]
    for mutation in chosen:
        read(mutation)  # All must apply before any is tried.
    if options.list:
        for mutation in chosen:
            print(f"{mutation.name}: {mutation.target} {mutation.test}")
        return 0
    if subprocess.run(["git", "-C", SOURCE, "diff", "--quiet"],
                      check=False).returncode != 0:
        raise SystemExit(f"{SOURCE} has changes; expected a clean checkout")
    failures = 0
    sound_tests = set()
    for mutation in chosen:
        key = (mutation.target, mutation.test)
        if key not in sound_tests:
            build(options.build, mutation.target)
            if not passes(options.build, mutation):
                print(f"FAILS WITHOUT  {mutation.name}: {mutation.test}",
                      flush=True)
                failures += 1
                continue
            sound_tests.add(key)
        restore = mutate(mutation)
        try:
            build(options.build, mutation.target)
            caught = not passes(options.build, mutation)
        finally:
            restore()
        failures += not caught
        print(f"{'caught' if caught else 'NOT CAUGHT':10s}  {mutation.name}: "
              f"{mutation.target} {mutation.test}", flush=True)
    print(f"{len(chosen) - failures} of {len(chosen)} mutations were caught")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
