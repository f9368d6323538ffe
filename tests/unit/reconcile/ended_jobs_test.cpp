// Jobs that are deleted before their owner tells how they ended (decision life-Q51).
#include "controller/reconcile/ended_jobs.h"

#include "common/lifecycle/object.h"
#include "reconcile_support.h"

namespace dynamo::controller::test {
namespace {

const std::string kComplete = "'conditions':[{'type':'Complete','status':'True'}]";
const std::string kFailed = "'conditions':[{'type':'Failed','status':'True'}]";

const std::string kRequest = "DynamoGraphDeploymentRequest";

std::string versionOf(const std::string& kind) {
  return kind == kRequest ? "nvidia.com/v1beta1" : "nvidia.com/v1alpha1";
}

/// An owner that follows its Job, or one that does not.
std::string owner(const std::string& kind, const std::string& uid, bool follows = true,
                  const char* revision = "1") {
  const std::string phase = !follows ? "Pending" : kind == kRequest ? "Profiling" : "Creating";
  return "{'apiVersion':'" + versionOf(kind) + "','kind':'" + kind +
         "','metadata':{'namespace':'n','name':'o','uid':'" + uid + "','resourceVersion':'" + revision +
         "'},'spec':{},'status':{'phase':'" + phase + "'}}";
}

std::string job(const std::string& kind, const std::string& status, const char* revision,
                const std::string& uid = "j", const std::string& space = "n") {
  return "{'apiVersion':'batch/v1','kind':'Job','metadata':{'namespace':'" + space +
         "','name':'job','uid':'" + uid + "','resourceVersion':'" + revision +
         "','labels':{'dgdr':'o'},'ownerReferences':[{'apiVersion':'" + versionOf(kind) + "','kind':'" +
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
           Row{"its owner does not follow it",
               owner(kind, "u", false),
               {of(kFailed, "3")},
               of(kFailed, "4"),
               false},
       }) {
    DYNAMIC_SECTION(kind << ": " << row.about) {
      CacheFixture f;
      EndedJobs ended;
      f.cache.onChange([&](const kube::Change& change) { ended.changed(change, f.cache); });
      const json::Document told = parsed(alive);
      if (!row.owner.empty()) f.see(row.owner);
      for (const std::string& object : row.seen) f.see(object);
      CHECK(ended.find(told) == nullptr);  // the cache has it
      f.seeDeleted(row.deleted);
      REQUIRE((ended.find(told) != nullptr) == row.kept);
      if (!row.kept) return;
      CHECK(lifecycle::nameOf(*ended.find(told)) == "job");
      SECTION("until it is told") {
        f.see(owner(kind, "u", false, "9"));
        CHECK(ended.find(told) == nullptr);
      }
      SECTION("until the owner is deleted") {
        f.seeDeleted(row.owner);
        CHECK(ended.find(told) == nullptr);
      }
      SECTION("until another Job takes its place") {
        f.see(job(kind, "", "5", "next"));
        CHECK(ended.find(told) == nullptr);
        f.seeDeleted(job(kind, "", "6", "next"));
        CHECK(ended.find(told) == nullptr);
      }
      SECTION("whatever Jobs of other namespaces say") {
        f.see(job(kind, "", "5", "foreign", "elsewhere"));
        CHECK(ended.find(told) != nullptr);
      }
    }
  }
}

}  // namespace dynamo::controller::test
