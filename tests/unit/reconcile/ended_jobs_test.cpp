// Jobs that are deleted before their owner tells how they ended (decision life-Q51).
#include "controller/reconcile/ended_jobs.h"

#include "common/lifecycle/object.h"
#include "reconcile_support.h"

namespace dynamo::controller::test {
namespace {

const std::string kComplete = "'conditions':[{'type':'Complete','status':'True'}]";
const std::string kFailed = "'conditions':[{'type':'Failed','status':'True'}]";

std::string owner(const std::string& kind, const char* uid) {
  const std::string version = kind == "DynamoGraphDeploymentRequest" ? "v1beta1" : "v1alpha1";
  return "{'apiVersion':'nvidia.com/" + version + "','kind':'" + kind +
         "','metadata':{'namespace':'n','name':'o','uid':'" + uid + "','resourceVersion':'1'},'spec':{}}";
}

std::string job(const std::string& kind, const std::string& status, const char* revision,
                const char* uid = "j") {
  const std::string version = kind == "DynamoGraphDeploymentRequest" ? "v1beta1" : "v1alpha1";
  return "{'apiVersion':'batch/v1','kind':'Job','metadata':{'namespace':'n','name':'job','uid':'" +
         std::string{uid} + "','resourceVersion':'" + revision +
         "','labels':{'dgdr':'o'},'ownerReferences':[{'apiVersion':'nvidia.com/" + version + "','kind':'" +
         kind + "','name':'o','uid':'u','controller':true}]},'spec':{},'status':{" + status + "}}";
}

}  // namespace

TEST_CASE("the last state of a Job that has ended stays until its owner tells it") {
  const std::string kind = GENERATE("DynamoCheckpoint", "DynamoGraphDeploymentRequest");
  const auto of = [&](const std::string& status, const char* revision) {
    return job(kind, status, revision);
  };
  struct Row {
    const char* about;
    std::string owner;  ///< in the cache; empty: none
    std::vector<std::string> seen;
    std::string deleted;
    bool kept;
  };
  const std::string alive = owner(kind, "u");
  for (const Row& row : {
           Row{"it is complete", alive, {of("", "2"), of(kComplete, "3")}, of(kComplete, "4"), true},
           Row{"it has failed", alive, {of(kFailed, "3")}, of(kFailed, "4"), true},
           Row{"it was deleted while it ran", alive, {of("", "2")}, of("", "4"), false},
           Row{"its owner is gone", "", {of(kComplete, "3")}, of(kComplete, "4"), false},
           Row{"its owner was replaced",
               owner(kind, "other"),
               {of(kComplete, "3")},
               of(kComplete, "4"),
               false},
       }) {
    CAPTURE(kind, row.about);
    CacheFixture f;
    EndedJobs ended;
    f.cache.onChange([&](const kube::Change& change) { ended.changed(change, f.cache); });
    const json::Document owner = parsed(alive);
    if (!row.owner.empty()) f.see(row.owner);
    for (const std::string& object : row.seen) f.see(object);
    CHECK(ended.find(owner) == nullptr);  // the cache has it
    f.seeDeleted(row.deleted);
    REQUIRE((ended.find(owner) != nullptr) == row.kept);
    if (!row.kept) continue;
    CHECK(lifecycle::nameOf(*ended.find(owner)) == "job");
    SECTION("until it is told") {
      ended.forget(owner);
      CHECK(ended.find(owner) == nullptr);
    }
    SECTION("until the owner is deleted") {
      f.seeDeleted(row.owner);
      CHECK(ended.find(owner) == nullptr);
    }
    SECTION("until another Job takes its place") {
      f.see(job(kind, "", "5", "next"));
      CHECK(ended.find(owner) == nullptr);
      f.seeDeleted(job(kind, "", "6", "next"));
      CHECK(ended.find(owner) == nullptr);
    }
  }
}

}  // namespace dynamo::controller::test
