// What a request would create, as `diff` shows it.
#include "controller/view/job_plan.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "../lifecycle/support.h"
#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"

namespace dynamo::view::test {
namespace {

using lifecycle::test::Objects;
using lifecycle::test::parsed;

constexpr const char* kHardware = "'hardware':{'gpuSku':'h200_sxm','numGpusPerNode':8},";
constexpr const char* kJob =
    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'profile-r','namespace':'demo','uid':'j',"
    "'ownerReferences':[{'uid':'u','controller':true}]}}";
constexpr const char* kForeignJob =
    "{'apiVersion':'batch/v1','kind':'Job','metadata':{'name':'profile-r','namespace':'demo','uid':'j'}}";

/// The problems and the changes, one a line.
std::string planned(const std::string& spec, const std::string& status,
                    const std::vector<std::string>& others) {
  const json::Document root = parsed(fmt::format(
      "{{'apiVersion':'nvidia.com/v1beta1','kind':'DynamoGraphDeploymentRequest','metadata':{{'name':'r',"
      "'namespace':'demo','uid':'u','generation':1}},'spec':{{{}'model':'m','image':'i'}},'status':{}}}",
      spec, status));
  config::OperatorConfig config = config::defaultConfig();
  config.rbac.dgdrProfilingClusterRoleName = "profiling";
  const model::ComponentDefaults defaults;
  const render::Facts facts;
  const render::FactsView view{facts};
  const Objects observed{others};
  const JobPlan plan = planJob(root, observed.view(), {config, defaults, view});
  std::string text;
  for (const std::string& problem : plan.problems) text += problem + "\n";
  return text + toText(changesOf(root, plan, observed.view(), "dynamo-controller"), Style{});
}

TEST_CASE("what a request creates") {
  struct Row {
    const char* about;
    std::string spec;
    std::string status;
    std::vector<std::string> others;
    const char* text;
  };
  for (const Row& row : {
           Row{"a new one",
               kHardware,
               "{}",
               {},
               "+ ServiceAccount demo/dgdr-profiling-job\n+ RoleBinding demo/dgdr-profiling-job-binding\n"
               "+ Job demo/profile-r\n"},
           Row{"hardware that nobody says",
               "",
               "{}",
               {},
               "+ ServiceAccount demo/dgdr-profiling-job\n+ RoleBinding demo/dgdr-profiling-job-binding\n"
               "+ Job demo/profile-r (when its hardware is discovered)\n"},
           Row{"a part of it",
               "'hardware':{'gpuSku':'h200_sxm'},",
               "{}",
               {},
               "+ ServiceAccount demo/dgdr-profiling-job\n+ RoleBinding demo/dgdr-profiling-job-binding\n"
               "+ Job demo/profile-r (when its hardware is discovered)\n"},
           Row{"a Job of somebody else",
               "",
               "{}",
               {kForeignJob},
               "+ ServiceAccount demo/dgdr-profiling-job\n+ RoleBinding demo/dgdr-profiling-job-binding\n"
               "! Job demo/profile-r (Job.batch demo/profile-r exists and does not belong to this "
               "request)\n"},
           Row{"one that has its Job", "", "{'phase':'Profiling','observedGeneration':1}", {kJob}, ""},
           Row{"no claim",
               "'modelCache':{'pvcName':'c'},",
               "{}",
               {},
               "model cache PVC c not found in namespace demo\n"},
       }) {
    CAPTURE(row.about);
    CHECK(planned(row.spec, row.status, row.others) == row.text);
  }
}

}  // namespace
}  // namespace dynamo::view::test
