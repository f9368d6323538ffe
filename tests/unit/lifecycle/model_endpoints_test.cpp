#include "common/lifecycle/model_endpoints.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "support.h"

namespace dynamo::lifecycle {
namespace {

using test::Objects;
using test::parsed;

std::string slice(const std::string& endpoints, const std::string& service = "s",
                  const std::string& type = "IPv4") {
  return "{'apiVersion':'discovery.k8s.io/v1','kind':'EndpointSlice','metadata':{'name':'x','namespace':'ns',"
         "'labels':{'kubernetes.io/service-name':'" +
         service + "'}},'addressType':'" + type + "','endpoints':" + endpoints + "}";
}

std::string endpoint(const std::string& address, const std::string& pod, const std::string& more = "",
                     const std::string& target = "") {
  return "{'addresses':['" + address + "']," + more + "'targetRef':{'kind':'Pod'," + target + "'name':'" +
         pod + "'}}";
}

/// "pod address address; pod address, N services"
std::string textOf(const ModelPods& found) {
  std::string out;
  for (const ModelPod& pod : found.pods) {
    out += (out.empty() ? "" : "; ") + pod.name;
    for (const std::string& address : pod.addresses) out += " " + address;
  }
  return out + ", " + std::to_string(found.services) + " services";
}

}  // namespace

TEST_CASE("the pods of a base model are those of its slices, each once") {  // ctl-Q23
  struct Row {
    const char* about;
    std::vector<std::string> slices;
    const char* found;
  };
  const std::vector<Row> rows{
      {"no slice", {}, ", 0 services"},
      {"a slice without endpoints", {slice("null")}, ", 1 services"},
      {"two pods",
       {slice("[" + endpoint("10.0.0.1", "a") + "," + endpoint("10.0.0.2", "b") + "]")},
       "a 10.0.0.1; b 10.0.0.2, 1 services"},
      {"the model's Service and that of the worker select the same pods",
       {slice("[" + endpoint("10.0.0.1", "a") + "]"), slice("[" + endpoint("10.0.0.1", "a") + "]", "t")},
       "a 10.0.0.1, 2 services"},
      {"a pod with two addresses is asked at the one of IPv4",
       {slice("[" + endpoint("fd00::1", "a") + "]", "s", "IPv6"),
        slice("[" + endpoint("10.0.0.1", "a") + "]")},
       "a 10.0.0.1 fd00::1, 1 services"},
      {"one that terminates",
       {slice("[" +
              endpoint("10.0.0.1", "a", "'conditions':{'ready':false,'serving':true,'terminating':true},") +
              "," + endpoint("10.0.0.2", "b", "'conditions':{'ready':true,'terminating':false},") + "]")},
       "b 10.0.0.2, 1 services"},
      {"one that is not ready is asked",
       {slice("[" + endpoint("10.0.0.1", "a", "'conditions':{'ready':false},") + "]")},
       "a 10.0.0.1, 1 services"},
      {"no pod",
       {slice("[{'addresses':['10.0.0.1']},{'addresses':['10.0.0.2'],'targetRef':{'kind':'Node','name':'n'}},"
              "{'addresses':[],'targetRef':{'kind':'Pod','name':'p'}},"
              "{'addresses':['10.0.0.3'],'targetRef':{'kind':'Pod'}}]")},
       ", 1 services"},
      {"a pod of another namespace",
       {slice("[" + endpoint("10.0.0.1", "a", "", "'namespace':'kube-system',") + "]")},
       ", 1 services"},
      {"names instead of addresses",
       {slice("[" + endpoint("example.com", "a") + "]", "s", "FQDN")},
       ", 1 services"},
      {"a slice of no Service", {slice("[" + endpoint("10.0.0.1", "a") + "]", "")}, "a 10.0.0.1, 0 services"},
      {"odd types", {slice("{'a':1}"), slice("[1,{'addresses':'x','targetRef':1}]")}, ", 1 services"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const Objects slices{row.slices};
    CHECK(textOf(podsOfModel(slices.view())) == row.found);
  }
  CHECK(endpointUrl("10.0.0.1") == "http://10.0.0.1:9090");
  CHECK(endpointUrl("fd00::1") == "http://[fd00::1]:9090");
}

TEST_CASE("a pod is asked only at an address of its own") {  // ctl-Q80
  struct Row {
    const char* about;
    std::string rest;  ///< of the pod, after its metadata
    std::vector<std::string> addresses;
    std::string address;
    std::string refusal;
  };
  const std::string ips = "'status':{'phase':'Running','podIPs':[{'ip':'10.0.0.1'},{'ip':'fd00::1'}]}";
  const std::vector<Row> rows{
      {"its address", ips, {"10.0.0.1"}, "10.0.0.1", ""},
      {"its second address", ips, {"fd00::1"}, "fd00::1", ""},
      {"one of the addresses is its own", ips, {"10.9.9.9", "10.0.0.1"}, "10.0.0.1", ""},
      {"another address", ips, {"10.9.9.9"}, "", "pod p does not have the address 10.9.9.9"},
      {"the metadata service of a cloud",
       ips,
       {"169.254.169.254"},
       "",
       "pod p does not have the address 169.254.169.254"},
      {"no address yet", "'status':{}", {"10.0.0.1"}, "", "pod p does not have the address 10.0.0.1"},
      {"the network of the node",
       "'spec':{'hostNetwork':true}," + ips,
       {"10.0.0.1"},
       "",
       "pod p uses the network of its node"},
      {"it has succeeded",
       "'status':{'phase':'Succeeded','podIPs':[{'ip':'10.0.0.1'}]}",
       {"10.0.0.1"},
       "",
       ""},
      {"it has failed", "'status':{'phase':'Failed','podIPs':[{'ip':'10.0.0.1'}]}", {"10.0.0.1"}, "", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const auto pod = parsed("{'metadata':{'name':'p','namespace':'ns'}," + row.rest + "}");
    const PodAddress found = addressOfPod(pod, {"p", row.addresses});
    CHECK(found.address == row.address);
    CHECK(found.refusal == row.refusal);
  }
  const auto deleted =
      parsed("{'metadata':{'name':'p','deletionTimestamp':'2026-01-02T03:00:00Z'}," + ips + "}");
  CHECK(addressOfPod(deleted, {"p", {"10.0.0.1"}}).address.empty());
  CHECK(addressOfPod(deleted, {"p", {"10.0.0.1"}}).refusal.empty());
}

TEST_CASE("the way from a pod to its graph") {  // ctl-Q80
  struct Row {
    const char* about;
    std::string owners;
    std::string next;  ///< key and uid; empty: the way ends
  };
  const auto owner = [](const std::string& version, const std::string& kind, const std::string& rest = "") {
    return "{'apiVersion':'" + version + "','kind':'" + kind + "','name':'o','uid':'u'," + rest +
           "'controller':true}";
  };
  const std::vector<Row> rows{
      {"none", "", ""},
      {"a ReplicaSet", owner("apps/v1", "ReplicaSet"), "ReplicaSet.apps ns/o u"},
      {"a StatefulSet", owner("apps/v1", "StatefulSet"), "StatefulSet.apps ns/o u"},
      {"the leader of a group", owner("v1", "Pod"), "Pod ns/o u"},
      {"a clique", owner("grove.io/v1alpha1", "PodClique"), "PodClique.grove.io ns/o u"},
      {"a graph", owner("nvidia.com/v1alpha1", "DynamoGraphDeployment"),
       "DynamoGraphDeployment.nvidia.com ns/o u"},
      {"no controller", "{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'o','uid':'u'}", ""},
      {"a kind of this name in another group", owner("example.com/v1", "DynamoGraphDeployment"), ""},
      {"a kind that is not on the way", owner("batch/v1", "Job"), ""},
      {"no uid", "{'apiVersion':'apps/v1','kind':'ReplicaSet','name':'o','controller':true}", ""},
  };
  for (const Row& row : rows) {
    CAPTURE(row.about);
    const auto pod =
        parsed("{'metadata':{'name':'p','namespace':'ns','ownerReferences':[" + row.owners + "]}}");
    const auto next = nextOwner(pod);
    CHECK((next ? k8s::toText(next->key) + " " + next->uid : "") == row.next);
  }
}

TEST_CASE("the way ends at a graph, or at a component without one") {  // ctl-Q80
  const auto ends = [](const std::string& version, const std::string& kind,
                       const std::string& metadata = "") {
    return isGraph(parsed("{'apiVersion':'" + version + "','kind':'" + kind + "','metadata':{'name':'g'" +
                          metadata + "}}"));
  };
  const std::string ours = "nvidia.com/v1alpha1";
  CHECK(ends(ours, "DynamoGraphDeployment"));
  CHECK(ends(ours, "DynamoComponentDeployment"));
  CHECK_FALSE(ends(ours, "DynamoComponentDeployment", ",'ownerReferences':[{'uid':'g','controller':true}]"));
  CHECK_FALSE(ends(ours, "DynamoGraphDeployment", ",'deletionTimestamp':'2026-01-02T03:00:00Z'"));
  CHECK_FALSE(ends("nvidia.com.example/v1", "DynamoGraphDeployment"));
  CHECK_FALSE(ends("apps/v1", "Deployment"));
}

TEST_CASE("restarts of the main container") {  // ctl-Q81
  const auto pod = [](const std::string& statuses) {
    return parsed("{'metadata':{'name':'p'},'status':{'containerStatuses':" + statuses + "}}");
  };
  CHECK(restartsOf(pod("null")) == -1);
  CHECK(restartsOf(pod("[{'name':'side','restartCount':4},{'name':'main','restartCount':2}]")) == 2);
  CHECK(restartsOf(pod("[{'name':'only','restartCount':1}]")) == 1);
  CHECK_FALSE(isStopped(pod("null")));
  CHECK_FALSE(isStopped(pod("[{'name':'main','state':{'running':{}}}]")));
  CHECK(isStopped(pod("[{'name':'main','state':{'waiting':{'reason':'CrashLoopBackOff'}}}]")));
  CHECK(isStopped(pod("[{'name':'main','state':{'terminated':{'exitCode':1}}}]")));
}

TEST_CASE("ranks of vLLM on further nodes serve no adapters") {  // ctl-Q95
  const auto serves = [](const std::string& main) {
    return !servesNoAdapters(parsed(
        "{'spec':{'containers':[{'name':'side','args':['--headless']},{'name':'main'," + main + "}]}}"));
  };
  CHECK(serves("'command':['python3','-m','dynamo.vllm'],'args':['--model','m','--node-rank','0']"));
  CHECK(
      serves("'command':['/bin/sh','-c'],'args':['ray start --head --port=6379 && python3 -m dynamo.vllm']"));
  CHECK(serves("'args':['--data-parallel-hybrid-lb']"));
  CHECK(serves(
      "'args':['if [ $I = 0 ]; then python3 -m dynamo.vllm; else python3 -m dynamo.vllm --headless; fi']"));
  CHECK_FALSE(serves("'command':['/bin/sh','-c'],'args':['ray start --address=l:6379 --block']"));
  CHECK_FALSE(serves("'command':['sh','-c','exec python3 -m dynamo.vllm --node-rank 1 --headless']"));
  CHECK_FALSE(serves("'command':['python3'],'args':['-m','dynamo.vllm','--headless']"));
}

}  // namespace dynamo::lifecycle
