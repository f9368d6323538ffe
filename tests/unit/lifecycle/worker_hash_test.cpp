// Workers that keep the hash of an earlier release (quirk ctl-Q31).
#include "common/lifecycle/worker_hash.h"

#include <catch2/catch.hpp>

#include "common/render/hash.h"
#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

/// The input of rendering with the built-in configuration.
struct Settings {
  config::OperatorConfig config = config::defaultConfig();
  model::ComponentDefaults defaults;
  render::Facts facts;
  render::Context context() const { return {config, defaults, facts}; }
};

TEST_CASE("a rolling update starts only when the user changes a worker") {
  const std::string image = "'extraPodSpec':{'mainContainer':{'image':'i:1'}}";
  struct Row {
    const char* name;
    const char* annotation;
    std::string live;  ///< of the hash "old"; empty: there is none
    const char* hash;
  };
  const Row rows[] = {
      {"equal", "old", image, "old"},
      {"labels, annotations and empty values are not compared", "old",
       image + ",'labels':{'a':'b'},'annotations':{'c':'d'},'envs':[],'resources':{}", "old"},
      {"another image", "old", "'extraPodSpec':{'mainContainer':{'image':'i:2'}}", "new"},
      {"the live worker has more fields", "old", image + ",'envs':[{'name':'A','value':'1'}]", "new"},
      {"the live worker has fewer fields", "old", "'envs':[]", "new"},
      {"the live worker has the defaults of pods in its own lists and fields", "old",
       "'sharedMemory':{'size':'8Gi'},'extraPodSpec':{'restartPolicy':'Always','securityContext':{'fsGroup':"
       "1000},'mainContainer':{'image':'i:1','env':[{'name':'POD_UID','valueFrom':{'fieldRef':{'fieldPath':"
       "'metadata.uid'}}},{'name':'DYN_COMPONENT','value':'worker'}]}}",
       "old"},
      {"another value of a default variable", "old",
       "'extraPodSpec':{'mainContainer':{'image':'i:1','env':[{'name':'DYN_COMPONENT','value':'mine'}]}}",
       "new"},
      {"a default of another release", "old",
       "'extraPodSpec':{'terminationGracePeriodSeconds':90,'mainContainer':{'image':'i:1'}}", "new"},
      {"no live worker", "old", "", "new"},
      {"no annotation", "", image, "new"},
      {"the annotation has the computed hash", "new", image, "new"},
      {"the annotation names another hash", "other", image, "new"}};
  const Settings settings;
  for (const Row& row : rows) {
    INFO(row.name);
    const json::Document graph = parsed(graphText("{'Worker':{}}", row.annotation));
    render::Children rendered;
    for (const Component& desired : {Component{.hash = "new", .replicas = 3, .more = image},
                                     Component{.service = "Frontend", .hash = ""}})
      rendered.add(json::copy(parsed(desired.text()), rendered.memory()), desired.service);
    Objects live;
    if (!row.live.empty()) live.add(Component{.hash = "old", .more = row.live}.text());
    CHECK(effectiveWorkerHash(graph, "new", rendered.items, live.view(), settings.context()) == row.hash);
  }
}

TEST_CASE("useAsCompilationCache: false is the same as its absence") {
  const Settings settings;
  const json::Document graph = parsed(graphText("{'Worker':{}}", "old"));
  const std::string mount = "'volumeMounts':[{'name':'m','mountPoint':'/m'";
  for (const auto& [live, hash] : {std::pair{",'useAsCompilationCache':false}]", "old"},
                                   std::pair{",'useAsCompilationCache':true}]", "new"}}) {
    render::Children rendered;
    rendered.add(json::copy(parsed(Component{.more = mount + "}]"}.text()), rendered.memory()), "Worker");
    const Objects components{{Component{.hash = "old", .more = mount + live}.text()}};
    CHECK(effectiveWorkerHash(graph, "new", rendered.items, components.view(), settings.context()) == hash);
  }
  const auto hashOf = [](const std::string& members) {
    return render::workerHash(
        parsed("{'spec':{'services':{'a':{'componentType':'worker','volumeMounts':[{'name':'m'" + members +
               "}]}}}}"));
  };
  CHECK(hashOf("") == hashOf(",'useAsCompilationCache':false"));
  CHECK(hashOf("") != hashOf(",'useAsCompilationCache':true"));
}

TEST_CASE("the generation of a worker is part of its name, whatever its label") {
  struct Row {
    const char* name;
    const char* service;
    const char* labels;
    const char* generation;
  };
  for (const Row& row : {
           Row{"g-worker-0123abcd", "Worker", "{'nvidia.com/dynamo-worker-hash':'0123abcd'}", "0123abcd"},
           Row{"g-worker-0123abcd", "Worker", "{'nvidia.com/dynamo-worker-hash':'edited'}", "0123abcd"},
           Row{"g-worker-0123abcd", "Worker", "{}", "0123abcd"},
           Row{"g-worker", "Worker", "{}", ""},
           Row{"g-worker", "Worker", "{'nvidia.com/dynamo-worker-hash':'legacy'}", "legacy"},
           Row{"g-worker-0123abcd", "Worker-0123abcd", "{}", ""},
           Row{"g-worker-0123abcx", "Worker", "{}", ""},
           Row{"other-worker-0123abcd", "Worker", "{}", ""},
       }) {
    CAPTURE(row.name, row.service, row.labels);
    const json::Document component =
        parsed("{'metadata':{'name':'" + std::string{row.name} + "','labels':" + row.labels +
               ",'ownerReferences':[{'kind':'DynamoGraphDeployment','name':'g','controller':true}]},'spec':{'"
               "serviceName':'" +
               row.service + "'}}");
    CHECK(generationHash(component) == row.generation);
  }
}

TEST_CASE("workers of a release without hashes are replaced, even if their content is the same") {
  const Settings settings;
  const json::Document graph = parsed(graphText("{'Worker':{}}", "legacy"));
  render::Children rendered;
  rendered.add(json::copy(parsed(Component{.hash = "new"}.text()), rendered.memory()), "Worker");
  const Objects live{{Component{.hash = "legacy"}.text()}};
  CHECK(effectiveWorkerHash(graph, "new", rendered.items, live.view(), settings.context()) == "new");
}

TEST_CASE("the hash stays only if all workers exist and belong to the graph") {
  const Settings settings;
  const json::Document graph = parsed(graphText("{'Worker':{}}", "old"));
  render::Children rendered;
  for (const char* service : {"Worker", "Decode"}) {
    std::string text = Component{}.text();
    text.replace(text.find("'serviceName':'Worker'"), 22, "'serviceName':'" + std::string{service} + "'");
    rendered.add(json::copy(parsed(text), rendered.memory()), service);
  }
  Objects live{{Component{.hash = "old"}.text()}};
  CHECK(effectiveWorkerHash(graph, "new", rendered.items, live.view(), settings.context()) == "new");
  rendered.items.pop_back();
  CHECK(effectiveWorkerHash(graph, "new", rendered.items, live.view(), settings.context()) == "old");
  std::string foreign = Component{.hash = "old"}.text();
  foreign.replace(foreign.find("'uid':'u'"), 9, "'uid':'v'");
  const Objects others{{foreign}};
  CHECK(effectiveWorkerHash(graph, "new", rendered.items, others.view(), settings.context()) == "new");
  CHECK(effectiveWorkerHash(graph, "new", {}, live.view(), settings.context()) == "new");
}

}  // namespace
}  // namespace dynamo::lifecycle::test
