#include "common/lifecycle/checkpoint.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/config/operator_config.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/object.h"
#include "common/render/hash.h"
#include "support.h"

namespace dynamo::lifecycle {
namespace {

using test::conditionsOf;
using test::eventsOf;
using test::kNow;
using test::Objects;
using test::parsed;
using test::writesOf;

constexpr const char* kHash = "96429b2725761a09";
constexpr const char* kLabelled = "'labels':{'nvidia.com/snapshot-checkpoint-hash':'96429b2725761a09'},";

json::Document checkpoint(std::string_view status, std::string_view metadata = kLabelled,
                          int generation = 1) {
  return parsed(fmt::format(
      "{{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoCheckpoint','metadata':{{'name':'c','namespace':"
      "'ns','uid':'u',{}'generation':{}}},'spec':{{'identity':{{'model':'meta-llama/Llama-2-7b-hf',"
      "'backendFramework':'vllm'}},'job':{{'podTemplateSpec':{{'spec':{{'containers':[{{'name':'main',"
      "'image':'i'}}]}}}}}}}},'status':{}}}",
      metadata, generation, status));
}

std::string job(std::string_view status, std::string_view owner = "u", std::string_view metadata = "") {
  return fmt::format(
      "{{'apiVersion':'batch/"
      "v1','kind':'Job','metadata':{{'name':'checkpoint-c','namespace':'ns',{}'uid':'j',"
      "'ownerReferences':[{{'uid':'{}','controller':true}}]}},'spec':{{'template':{{'spec':{{'containers':"
      "[{{'name':'main'}}]}}}}}},'status':{}}}",
      metadata, owner, status);
}

std::string pod(std::string_view status) {
  return fmt::format(
      "{{'apiVersion':'v1','kind':'Pod','metadata':{{'name':'p','namespace':'ns','creationTimestamp':'2026-"
      "01-02"
      "T03:00:00Z','ownerReferences':[{{'uid':'j','controller':true}}]}},'status':{}}}",
      status);
}

constexpr const char* kCreating =
    "{'conditions':[{'type':'JobCreated','status':'True','reason':'JobCreated','message':'Checkpoint job "
    "checkpoint-c created','observedGeneration':1,'lastTransitionTime':'2026-01-02T03:00:00Z'}],"
    "'identityHash':'96429b2725761a09','jobName':'checkpoint-c','phase':'Creating'}";
constexpr const char* kFailed =
    "{'conditions':[{'type':'JobCompleted','status':'False','reason':'JobFailed','message':'m',"
    "'observedGeneration':1,'lastTransitionTime':'2026-01-02T03:00:00Z'}],"
    "'identityHash':'96429b2725761a09','jobName':'checkpoint-c','message':'m','phase':'Failed'}";
constexpr const char* kFailedJob =
    "{'conditions':[{'type':'Failed','status':'True','reason':'BackoffLimitExceeded','message':'Job has "
    "reached the specified backoff limit'}]}";
constexpr const char* kCompleteJob =
    "{'completionTime':'2026-01-02T03:03:00Z','succeeded':1,'conditions':[{'type':'SuccessCriteriaMet',"
    "'status':'True'},{'type':'Complete','status':'True'}]}";

struct World {
  config::OperatorConfig config = config::defaultConfig();
  model::ComponentDefaults defaults{};
  render::Facts facts;
  render::FactsView view{facts};
  render::Context context{config, defaults, view};
};

TEST_CASE("a checkpoint needs a Job until it is over") {
  struct Row {
    const char* about;
    const char* status;
    std::string job;
    int generation;
    bool created;
  };
  for (const Row& row : {
           Row{"a new one", "{}", "", 1, true},
           Row{"pending", "{'phase':'Pending'}", "", 1, true},
           Row{"its Job runs", kCreating, job("{}"), 1, false},
           Row{"its Job runs, and the spec has changed", kCreating, job("{}"), 2, false},
           Row{"its Job is gone, which is told first", kCreating, "", 1, false},
           Row{"a Job of its name of somebody else", "{'phase':'Pending'}", job("{}", "other"), 1, true},
           Row{"its Job is being deleted", "{'phase':'Pending'}",
               job("{}", "u", "'deletionTimestamp':'2026-01-02T03:00:00Z',"), 1, false},
           Row{"ready", "{'phase':'Ready'}", "", 1, false},
           Row{"ready, and the spec has changed", "{'phase':'Ready'}", "", 2, false},
           Row{"failed", kFailed, "", 1, false},
           Row{"failed, and the spec has changed: the failed Job goes first", kFailed, "", 2, false},
           Row{"failed under the reference, which does not say with which spec", "{'phase':'Failed'}", "", 2,
               false},
           Row{"a phase that nobody knows", "{'phase':'Else'}", "", 1, true},
       }) {
    CAPTURE(row.about);
    const World world;
    Objects observed;
    if (!row.job.empty()) observed.add(row.job);
    const json::Document object = checkpoint(row.status, kLabelled, row.generation);
    const render::Children children = checkpointChildren(object, observed.view(), world.context);
    CHECK(children.errors.empty());
    REQUIRE(children.items.size() == (row.created ? 1 : 0));
    if (row.created) CHECK(k8s::toText(children.items[0].key).find("checkpoint-c") != std::string::npos);
  }
}

/// What a reconcile does: "phase, jobName, message", the conditions, writes, Events.
struct Seen {
  std::string phase;
  std::string message;
  std::string conditions;
  std::string writes;
  std::string events;
  json::Document status;
  std::optional<std::chrono::milliseconds> requeueAfter;
  std::size_t failures = 0;
};

Seen reconcile(const json::Document& object, const Objects& observed, std::vector<Ending> failures = {},
               std::string_view storage = "pvc") {
  World world;
  world.config.checkpoint.storageType = storage;
  if (storage == "s3") world.config.checkpoint.s3.uri = "s3://bucket/prefix";
  json::Document memory;
  const Applied applied{observed.view(), std::move(failures)};
  const Outcome outcome =
      checkpointOutcome(object, render::Children{}, applied, world.context, kNow, memory.GetAllocator());
  Seen seen;
  if (outcome.status) {
    seen.status.CopyFrom(*outcome.status, seen.status.GetAllocator());
    seen.phase = json::findText(&seen.status, "phase");
    seen.message = json::findText(&seen.status, "message");
    seen.conditions = conditionsOf(seen.status);
  }
  seen.writes = writesOf(outcome.writes);
  seen.events = eventsOf(outcome.events);
  seen.requeueAfter = outcome.requeueAfter;
  seen.failures = outcome.failures.size();
  return seen;
}

TEST_CASE("the hash follows the identity until the Job exists (decision ctl-Q88)") {
  struct Row {
    const char* about;
    const char* status;
    std::string job;
    const char* hash;
  };
  const std::string labelled = job("{}", "u", "'labels':{'nvidia.com/snapshot-checkpoint-hash':'made'},");
  for (const Row& row : {
           Row{"a new one", "{}", "", kHash},
           Row{"its identity was edited", "{'phase':'Pending','identityHash':'old'}", "", kHash},
           Row{"its Job was created with an earlier identity", "{'phase':'Pending','identityHash':'old'}",
               labelled, "made"},
           Row{"its Job runs", "{'phase':'Creating','jobName':'checkpoint-c','identityHash':'old'}",
               job("{}"), "old"},
       }) {
    CAPTURE(row.about);
    Objects observed;
    if (!row.job.empty()) observed.add(row.job);
    const Seen seen = reconcile(checkpoint(row.status), observed);
    CHECK(json::findText(&seen.status, "identityHash") == row.hash);
  }
  CHECK(render::checkpointHash(checkpoint("{'phase':'Ready','identityHash':'old'}")) == "old");
  CHECK(render::checkpointHash(checkpoint("{'phase':'Ready'}")) == kHash);
  CHECK(render::checkpointHash(checkpoint("{'phase':'Pending','identityHash':'old'}")) == kHash);
}

TEST_CASE("a checkpoint follows its Job") {
  constexpr const char* kCreated = "JobCreated=True JobCreated: Checkpoint job checkpoint-c created\n";
  SECTION("it is created") {
    const Seen seen = reconcile(checkpoint("{}"), Objects{{job("{}")}});
    CHECK(seen.phase == "Creating");
    CHECK(seen.conditions == kCreated);
    CHECK(json::findText(&seen.status, "jobName") == "checkpoint-c");
    CHECK(json::findText(&seen.status, "identityHash") == kHash);
    CHECK(seen.events.empty());
  }
  SECTION("it runs: nothing is written") {
    const Seen seen =
        reconcile(checkpoint(kCreating), Objects{{job("{'active':1}"), pod("{'phase':'Running'}")}});
    CHECK(seen.phase.empty());
    CHECK(seen.writes.empty());
  }
  SECTION("one of its pods has succeeded, but the Job is not complete (decision ctl-Q9)") {
    CHECK(reconcile(checkpoint(kCreating), Objects{{job("{'succeeded':1}")}}).phase.empty());
  }
  SECTION("it is complete") {
    const Seen seen = reconcile(checkpoint(kCreating), Objects{{job(kCompleteJob)}});
    CHECK(seen.phase == "Ready");
    const std::string message = "Checkpoint job completed, available at /checkpoints/96429b2725761a09";
    CHECK(seen.conditions == kCreated + ("JobCompleted=True JobSucceeded: " + message + "\n"));
    CHECK(seen.events == "Normal CheckpointReady: " + message + "\n");
    CHECK(json::findText(&seen.status, "location") == "/checkpoints/96429b2725761a09");
    CHECK(json::findText(&seen.status, "storageType") == "pvc");
    CHECK(json::findText(&seen.status, "createdAt") == "2026-01-02T03:03:00Z");
  }
  SECTION("in another storage (decision pod-Q35)") {
    const Seen seen = reconcile(checkpoint(kCreating), Objects{{job(kCompleteJob)}}, {}, "s3");
    CHECK(json::findText(&seen.status, "location") == "s3://bucket/prefix/96429b2725761a09.tar");
    CHECK(json::findText(&seen.status, "storageType") == "s3");
  }
  SECTION("it has failed") {
    const Seen seen =
        reconcile(checkpoint(kCreating),
                  Objects{{job(kFailedJob),
                           pod("{'phase':'Failed','containerStatuses':[{'name':'main','state':{"
                               "'terminated':{'exitCode':3,'reason':'Error','message':'no GPU'}}}]}")}});
    CHECK(seen.phase == "Failed");
    CHECK(seen.message ==
          "Checkpoint job failed: Job has reached the specified backoff limit; pod p: container main ended "
          "with "
          "exit code 3 (Error): no GPU");
    CHECK(seen.conditions == kCreated + ("JobCompleted=False JobFailed: " + seen.message + "\n"));
    CHECK(seen.events == "Warning CheckpointFailed: " + seen.message + "\n");
  }
  SECTION("it is gone") {
    const Seen seen = reconcile(checkpoint(kCreating), Objects{});
    CHECK(seen.phase == "Pending");
    CHECK(seen.conditions == "JobCreated=False JobDeleted: Checkpoint job checkpoint-c was deleted\n");
    CHECK(json::find(seen.status, "jobName") == nullptr);
    CHECK(seen.requeueAfter == std::chrono::milliseconds{0});
  }
}

TEST_CASE("the pods of a failed Job are needed until its failure is told (decision ctl-Q74)") {
  struct Row {
    const char* about;
    const char* status;
    std::string job;
    int generation;
    bool needed;
  };
  const Row rows[] = {
      {"it has failed", kCreating, job(kFailedJob), 1, true},
      {"nothing was told yet", "{}", job(kFailedJob), 1, true},
      {"it runs", kCreating, job("{'active':1}"), 1, false},
      {"it is complete", kCreating, job(kCompleteJob), 1, false},
      {"its failure was told", kFailed, job(kFailedJob), 1, false},
      {"it is about to be replaced", kFailed, job(kFailedJob), 2, false},
      {"it has failed, and is being deleted", kCreating,
       job(kFailedJob, "u", "'deletionTimestamp':'2026-01-02T03:00:00Z',"), 1, true},
      {"it is being deleted, and is that of an earlier spec", "{'phase':'Pending'}",
       job(kFailedJob, "u", "'deletionTimestamp':'2026-01-02T03:00:00Z',"), 1, false},
      {"it belongs to somebody else", kCreating, job(kFailedJob, "other"), 1, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const Objects objects{{row.job}};
    const json::Document found = checkpoint(row.status, kLabelled, row.generation);
    const json::Value* told = jobWhoseFailureIsTold(found, objects.view());
    CHECK((told != nullptr) == row.needed);
    if (told != nullptr) CHECK(told == objects.view().front());
  }
}

TEST_CASE("a Job that is being deleted tells how it has ended (decision life-Q51)") {
  constexpr const char* kDeleted = "'deletionTimestamp':'2026-01-02T03:03:00Z',";
  CHECK(reconcile(checkpoint(kCreating), Objects{{job(kCompleteJob, "u", kDeleted)}}).phase == "Ready");
  CHECK(reconcile(checkpoint(kCreating), Objects{{job(kFailedJob, "u", kDeleted)}}).phase == "Failed");
  CHECK(reconcile(checkpoint(kCreating), Objects{{job("{'active':1}", "u", kDeleted)}}).phase == "Pending");
  const std::string earlier = job(kFailedJob, "u", kDeleted);
  CHECK(reconcile(checkpoint("{}"), Objects{{earlier}}).phase == "Pending");
}

TEST_CASE("a checkpoint may have a Job that its watch does not show") {
  struct Row {
    const char* status;
    int generation;
    const char* job;
  };
  const Row rows[] = {{"{}", 1, ""},  // it had none yet
                      {"{'phase':'Pending'}", 1, "checkpoint-c"},
                      {"{'phase':'Creating','jobName':'another'}", 1, "another"},
                      {kCreating, 1, "checkpoint-c"},
                      {kFailed, 1, ""},
                      {kFailed, 2, "checkpoint-c"},  // it makes room for another one
                      {"{'phase':'Ready','jobName':'checkpoint-c'}", 2, ""}};
  for (const Row& row : rows) {
    CAPTURE(row.status, row.generation);
    CHECK(unseenJobName(checkpoint(row.status, kLabelled, row.generation)) == row.job);
  }
}

TEST_CASE("a failure is that of the spec of the Job (decision ctl-Q74)") {
  const json::Document edited = checkpoint(kCreating, kLabelled, 2);
  const Seen runs = reconcile(edited, Objects{{job("{'active':1}")}});
  CHECK(runs.phase.empty());
  const Seen failed = reconcile(edited, Objects{{job(kFailedJob)}});
  REQUIRE(failed.phase == "Failed");
  CHECK(failed.requeueAfter == std::chrono::milliseconds{0});
  CHECK_FALSE(reconcile(checkpoint(kCreating), Objects{{job(kFailedJob)}}).requeueAfter);
  for (const std::string_view type : {condition::kJobCreated, condition::kJobCompleted})
    CHECK(numberAt(findCondition(&failed.status, type), "observedGeneration", 0) == 1);
  const Seen again =
      reconcile(checkpoint(json::dump(failed.status), kLabelled, 2), Objects{{job(kFailedJob)}});
  CHECK(again.writes == "delete Job/checkpoint-c\n");
  CHECK(again.phase == "Pending");
  // The Job of the new spec.
  const Seen next = reconcile(checkpoint(json::dump(again.status), kLabelled, 2), Objects{{job("{}")}});
  CHECK(numberAt(findCondition(&next.status, condition::kJobCreated), "observedGeneration", 0) == 2);
}

TEST_CASE("what is over stays told") {
  for (const char* status :
       {"{'phase':'Ready','identityHash':'96429b2725761a09','location':'/x'}", kFailed}) {
    for (const std::string& live : {std::string{}, job(kCompleteJob), job(kFailedJob)}) {
      CAPTURE(status, live);
      Objects observed;
      if (!live.empty()) observed.add(live);
      const Seen seen = reconcile(checkpoint(status), observed);
      CHECK(seen.phase.empty());
      CHECK(seen.writes.empty());
      CHECK(seen.events.empty());
    }
  }
}

TEST_CASE("a changed spec gives a failed checkpoint another Job (decision ctl-Q74)") {
  const Seen seen = reconcile(checkpoint(kFailed, kLabelled, 2), Objects{{job(kFailedJob)}});
  CHECK(seen.writes == "delete Job/checkpoint-c\n");
  CHECK(seen.phase == "Pending");
  CHECK(seen.message.empty());
  CHECK(seen.conditions.starts_with("JobCreated=False SpecChanged: "));
  CHECK(seen.conditions.find("JobCompleted") == std::string::npos);
  const Seen collected = reconcile(checkpoint(kFailed, kLabelled, 2), Objects{});
  CHECK(collected.writes.empty());
  CHECK(collected.phase == "Pending");
}

TEST_CASE("a checkpoint tells what keeps it from its Job or the pods from running") {
  SECTION("the Job is refused") {
    const Ending refusal = Permanent{"Job checkpoint-c: exceeded quota: jobs"};
    const json::Document object = checkpoint("{'phase':'Pending','identityHash':'96429b2725761a09'}");
    const Seen seen = reconcile(object, Objects{}, {refusal});
    CHECK(seen.phase == "Pending");
    CHECK(seen.message == "Failed to create the checkpoint job: Job checkpoint-c: exceeded quota: jobs");
    CHECK(seen.conditions == "JobCreated=False JobCreationFailed: " + seen.message + "\n");
    CHECK(seen.events == "Warning JobCreationFailed: Job checkpoint-c: exceeded quota: jobs\n");
    const Seen again = reconcile(checkpoint(json::dump(seen.status)), Objects{}, {refusal});
    CHECK(again.events.empty());
    CHECK(again.phase.empty());
    // Nothing tells when a quota changes, so it is tried again soon (decision ctl-Q86).
    CHECK(seen.requeueAfter == std::chrono::seconds{20});
    CHECK(again.requeueAfter == std::chrono::seconds{20});
    CHECK(seen.failures == 0);
  }
  SECTION("the Job is invalid, until the spec changes") {
    const json::Document object = checkpoint("{'phase':'Pending','identityHash':'96429b2725761a09'}");
    const Seen seen = reconcile(object, Objects{}, {Permanent{"Job checkpoint-c is invalid", kInvalidError}});
    CHECK(seen.message == "Failed to create the checkpoint job: Job checkpoint-c is invalid");
    CHECK_FALSE(seen.requeueAfter);
    CHECK(seen.failures == 1);
  }
  SECTION("a Job of its name belongs to somebody else") {
    const World world;
    const json::Document object = checkpoint("{'phase':'Pending','identityHash':'96429b2725761a09'}");
    const render::Children children = checkpointChildren(object, {}, world.context);
    json::Document memory;
    const Outcome outcome =
        checkpointOutcome(object, children, Applied{}, world.context, kNow, memory.GetAllocator());
    CHECK(outcome.failures.empty());
    CHECK(outcome.requeueAfter == std::chrono::seconds{20});
    CHECK(
        conditionsOf(*outcome.status) ==
        "JobCreated=False JobCreationFailed: Failed to create the checkpoint job: Job.batch ns/checkpoint-c "
        "exists and does not belong to this checkpoint\n");
  }
  SECTION("a Job of its name belongs to an earlier checkpoint of its name (decision life-Q8)") {
    const World world;
    const json::Document object = checkpoint("{'phase':'Pending','identityHash':'96429b2725761a09'}");
    const render::Children children = checkpointChildren(object, {}, world.context);
    std::string earlier = job("{}", "earlier");
    const std::string owner = "'uid':'earlier'";
    earlier.insert(earlier.find(owner), "'kind':'DynamoCheckpoint','name':'c',");
    const Objects observed{{earlier}};
    json::Document memory;
    const Outcome outcome = checkpointOutcome(object, children, Applied{observed.view(), {}}, world.context,
                                              kNow, memory.GetAllocator());
    CHECK(outcome.events.empty());
    REQUIRE(outcome.failures.size() == 1);
    CHECK(mustLookAgain(outcome.failures.front()));
    CHECK(json::findText(&*outcome.status, "message") ==
          "Job.batch ns/checkpoint-c belongs to an earlier checkpoint or is being deleted: it is awaited");
  }
  SECTION("a failure that may pass is not told at once") {
    const json::Document object = checkpoint("{'phase':'Pending','identityHash':'96429b2725761a09'}");
    CHECK(reconcile(object, Objects{}, {Transient{"timeout"}}).phase.empty());
  }
  SECTION("the image cannot be pulled") {
    const Objects observed{{job("{'active':1}"),
                            pod("{'phase':'Pending','containerStatuses':[{'name':'main','image':'i','state':{"
                                "'waiting':{'reason':'ImagePullBackOff','message':'x'}}}]}")}};
    const Seen seen = reconcile(checkpoint(kCreating), observed);
    CHECK(seen.phase == "Creating");
    CHECK(seen.message == "cannot pull image \"i\": x");
    CHECK(seen.events == "Warning ImagePullFailed: cannot pull image \"i\": x\n");
    CHECK(reconcile(checkpoint(json::dump(seen.status)), observed).events.empty());
    const Seen healed = reconcile(checkpoint(json::dump(seen.status)), Objects{{job("{'active':1}")}});
    CHECK(healed.phase == "Creating");
    CHECK(json::find(healed.status, "message") == nullptr);
  }
}

TEST_CASE("a checkpoint without the label of its hash gets it (decision ctl-Q12)") {
  const std::string patch =
      R"(patch DynamoCheckpoint/c {"metadata":{"labels":{"nvidia.com/snapshot-checkpoint-hash":"96429b2725761a09"}}})";
  for (const char* status : {"{}", "{'phase':'Ready','identityHash':'96429b2725761a09'}"}) {
    const Seen seen = reconcile(checkpoint(status, ""), Objects{{job("{}")}});
    CHECK(seen.writes == patch + '\n');
    CHECK(reconcile(checkpoint(status), Objects{{job("{}")}}).writes.empty());
  }
}

}  // namespace
}  // namespace dynamo::lifecycle
