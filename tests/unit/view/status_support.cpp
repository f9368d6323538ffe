#include "status_support.h"

#include <fmt/format.h>

#include "../lifecycle/support.h"
#include "common/config/operator_config.h"
#include "common/model/component_defaults.h"
#include "controller/view/status_node.h"
#include "controller/view/status_text.h"

namespace dynamo::view::test {

std::string object(const std::string& kind, const std::string& name, const std::string& owner,
                   const std::string& labels, const std::string& rest) {
  const std::string owners =
      owner.empty()
          ? ""
          : fmt::format(",'ownerReferences':[{{'kind':'Any','name':'any','uid':'{}','controller':true}}]",
                        owner);
  return fmt::format(
      "{{'apiVersion':'any/v1','kind':'{0}','metadata':{{'name':'{1}','namespace':'demo',"
      "'uid':'{0}/{1}','generation':1,'creationTimestamp':'2026-01-02T03:00:00Z','labels':{{{2}}}"
      "{3}}}{4}}}",
      kind, name, labels, owners, rest.empty() ? "" : "," + rest);
}

std::string graph(const std::string& spec, const std::string& status) {
  return object("DynamoGraphDeployment", "g", "", "",
                fmt::format("'spec':{{{}}},'status':{{{}}}", spec, status));
}

std::string readyCondition(const std::string& status, const std::string& reason, const std::string& message) {
  return fmt::format(
      "'observedGeneration':1,'conditions':[{{'type':'Ready','status':'{}','reason':'{}',"
      "'message':'{}','observedGeneration':1}}]",
      status, reason, message);
}

std::string labelsOf(const std::string& service, const std::string& hash) {
  return fmt::format("'nvidia.com/dynamo-graph-deployment-name':'g','nvidia.com/dynamo-component':'{}'{}",
                     service, hash.empty() ? "" : fmt::format(",'nvidia.com/dynamo-worker-hash':'{}'", hash));
}

std::string component(const std::string& name, const std::string& service, const std::string& hash,
                      int replicas, int ready, const std::string& condition) {
  return object("DynamoComponentDeployment", name, kGraph, labelsOf(service, hash),
                fmt::format("'spec':{{'serviceName':'{}','replicas':{}}},'status':{{'observedGeneration':1,"
                            "'service':{{'readyReplicas':{}}},'conditions':[{{'type':'Available',{}}}]}}",
                            service, replicas, ready, condition));
}

std::string pod(const std::string& name, const std::string& owner, const std::string& labels,
                const std::string& status) {
  const std::string running =
      "'phase':'Running','conditions':[{'type':'Ready','status':'True'}],"
      "'containerStatuses':[{'name':'main','ready':true}]";
  return object("Pod", name, owner, labels,
                fmt::format("'spec':{{'containers':[{{'name':'main'}}]}},'status':{{{}}}",
                            status.empty() ? running : status));
}

std::string workload(int replicas, int ready) {
  return fmt::format(
      "'spec':{{'replicas':{0}}},'status':{{'observedGeneration':1,'replicas':{0},"
      "'updatedReplicas':{0},'readyReplicas':{1},'availableReplicas':{1},"
      "'conditions':[{{'type':'Available','status':'True'}}]}}",
      replicas, ready);
}

std::string shown(const std::string& graph, const std::vector<std::string>& children, bool grove,
                  const std::vector<std::string>& unlisted) {
  const json::Document root = lifecycle::test::parsed(graph);
  const lifecycle::test::Objects objects{children};
  const config::OperatorConfig config;
  const model::ComponentDefaults defaults;
  render::Facts facts;
  facts.setApi(render::Api::Grove, grove);
  GraphTree tree = treeOf(root, objects.view(), {config, defaults, facts}, lifecycle::test::kNow);
  markUnlisted(tree.nodes, unlisted);
  return toText(tree, {Style{}, lifecycle::test::kNow, false});
}

}  // namespace dynamo::view::test
