// The reconcile of a scaling adapter whose write is refused. tests/unit/lifecycle/scaling_adapter_test.cpp
// has what it decides.
#include "apply_support.h"
#include "controller/reconcile/reconcilers.h"

namespace dynamo::controller::test {
namespace {

const std::string kResources = "/apis/nvidia.com/v1alpha1/namespaces/n/";
const std::string kGraphPath = kResources + "dynamographdeployments/g";
const std::string kAdapterPath = kResources + "dynamographdeploymentscalingadapters/g-worker";
const std::string kGraph =
    "{'apiVersion':'nvidia.com/"
    "v1alpha1','kind':'DynamoGraphDeployment','metadata':{'namespace':'n','name':'g'},"
    "'spec':{'services':{'Worker':{'replicas':2,'scalingAdapter':{'enabled':true}}}}}";
const std::string kAdapter =
    "{'apiVersion':'nvidia.com/"
    "v1alpha1','kind':'DynamoGraphDeploymentScalingAdapter','metadata':{'namespace':'n',"
    "'name':'g-worker'},'spec':{'replicas':5,'dgdRef':{'name':'g','serviceName':'Worker'}}}";

}  // namespace

TEST_CASE("a scaling adapter tells a refused write, and tries again if that may help") {
  struct Row {
    const char* about;
    int status;  ///< of the reply to the patch of the graph; 200: it is carried out
    const char* reason;
    const char* ending;
    const char* condition;  ///< part of the stored adapter; empty: its status is not written
  };
  for (const Row& row : {
           Row{"carried out", 200, "", "", R"("reason":"ScalesService")"},
           Row{"the graph has changed meanwhile", 409, "Conflict",
               "conflict: DynamoGraphDeployment.nvidia.com n/g: no", ""},
           Row{"the API server fails", 500, "InternalError",
               "transient: DynamoGraphDeployment.nvidia.com n/g: no", ""},
           Row{"admission refuses the number", 422, "Invalid", "DynamoGraphDeployment.nvidia.com n/g: no",
               R"("reason":"UpdateFailed")"},
       }) {
    CAPTURE(row.about);
    FakeApi api{[&](const std::string& line, int) -> std::optional<std::string> {
      if (line != "PATCH " + kGraphPath || row.status == 200) return std::nullopt;
      return failure(row.status, row.reason);
    }};
    withApplier(api, [&](Applier& applier) -> Task<void> {
      api.store(kGraphPath, kGraph);
      api.store(kAdapterPath, kAdapter);
      watchSees(api, applier, kGraphPath);
      watchSees(api, applier, kAdapterPath);
      const ReconcileResult result = co_await reconcileScalingAdapter(applier.f.environment, keyOf(kAdapter));
      CHECK(textOf(result.ending) == row.ending);
    });
    const bool scaled = api.at(kGraphPath).find(R"("replicas":5)") != std::string::npos;
    INFO(api.at(kAdapterPath));
    CHECK(scaled == (row.status == 200));
    const bool tells = api.at(kAdapterPath).find(R"("reason":)") != std::string::npos;
    CHECK(tells == (*row.condition != '\0'));
    if (tells) CHECK(api.at(kAdapterPath).find(row.condition) != std::string::npos);
  }
}

}  // namespace dynamo::controller::test
