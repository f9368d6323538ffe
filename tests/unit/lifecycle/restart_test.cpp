// The steps of a restart (quirks ctl-Q19, ctl-Q41, ctl-Q50).
#include "common/lifecycle/restart.h"

#include <catch2/catch.hpp>

#include "graph_support.h"

namespace dynamo::lifecycle::test {
namespace {

const std::string kServices =
    "{'A':{'componentType':'frontend'},'B':{'componentType':'frontend'},'C':{'componentType':'frontend'}}";

/// A service that carries a restart: "A:r1" is ready, "A:r1!" is not; "A" carries none.
std::string component(const std::string& text) {
  const std::string name{text[0]};
  const bool ready = text.back() != '!';
  const std::size_t colon = text.find(':');
  const std::string id = colon == std::string::npos ? "" : text.substr(2, text.size() - (ready ? 2 : 3));
  return "{'metadata':{'name':'g-" + std::string(1, static_cast<char>(name[0] + 32)) +
         "','generation':1},'spec':{'annotations':{'nvidia.com/restartAt':'" + id +
         "'}},'status':{'observedGeneration':1,'conditions':[{'type':'Available','status':'" +
         (ready ? "True" : "False") + "'}]}}";
}

std::string stepText(const RestartStep& step, json::Allocator& allocator) {
  const json::Value status = restartStatus(step, allocator);
  if (status.IsNull()) return "none";
  std::string text{json::findText(&status, "observedID")};
  text += ' ';
  text += json::findText(&status, "phase");
  const json::Value* list = json::find(status, "inProgress");
  for (rapidjson::SizeType i = 0; list != nullptr && i < list->Size(); ++i)
    text += ' ' + std::string{json::text((*list)[i])};
  return text;
}

TEST_CASE("the next step of a restart follows from its services") {
  struct Row {
    const char* name;
    const char* request;
    const char* status;
    std::vector<std::string> services;
    bool rolls;
    const char* next;
  };
  const std::string parallel = "{'id':'r1','strategy':{'type':'Parallel'}}";
  const std::string ordered = "{'id':'r1','strategy':{'type':'Sequential','order':['C','A','B']}}";
  const Row rows[] = {
      {"no request", "null", "null", {"A", "B", "C"}, false, "none"},
      {"a new restart begins with the first service of its order",
       ordered.c_str(),
       "null",
       {"A", "B", "C"},
       false,
       "r1 Restarting C"},
      {"without a strategy: sequential, sorted by name",
       "{'id':'r1'}",
       "null",
       {"A", "B", "C"},
       false,
       "r1 Restarting A"},
      {"ready, without the id",
       ordered.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['C']}",
       {"A", "B", "C"},
       false,
       "r1 Restarting C"},
      {"with the id, not ready",
       ordered.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['C']}",
       {"A", "B", "C:r1!"},
       false,
       "r1 Restarting C"},
      {"done: the next service restarts",
       ordered.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['C']}",
       {"A", "B", "C:r1"},
       false,
       "r1 Restarting A"},
      {"the last service is done",
       ordered.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['B']}",
       {"A:r1", "B:r1", "C:r1"},
       false,
       "r1 Completed"},
      {"another id is requested meanwhile",
       "{'id':'r2'}",
       "{'observedID':'r1','phase':'Restarting','inProgress':['C']}",
       {"A:r1", "B", "C"},
       false,
       "r2 Restarting A"},
      {"parallel: all services at once",
       parallel.c_str(),
       "null",
       {"A", "B", "C"},
       false,
       "r1 Restarting A B C"},
      {"parallel: services that are done leave",
       parallel.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['A','B','C']}",
       {"A:r1", "B:r1!", "C"},
       false,
       "r1 Restarting B C"},
      {"parallel: all done",
       parallel.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['B']}",
       {"A:r1", "B:r1", "C:r1"},
       false,
       "r1 Completed"},
      {"the strategy becomes parallel: services that have not started yet start",
       parallel.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['B']}",
       {"A:r1!", "B:r1!", "C"},
       false,
       "r1 Restarting B C"},
      {"the strategy becomes sequential: what has started goes on",
       ordered.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['A','B','C']}",
       {"A:r1", "B:r1!", "C:r1!"},
       false,
       "r1 Restarting C B"},
      {"the order is edited: services before the current one follow",
       ordered.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['A']}",
       {"A:r1", "B", "C"},
       false,
       "r1 Restarting C"},
      {"a restarted service that is not ready for a moment does not restart again",
       ordered.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['A']}",
       {"A:r1", "B", "C:r1!"},
       false,
       "r1 Restarting B"},
      {"completed stays",
       "{'id':'r1'}",
       "{'observedID':'r1','phase':'Completed'}",
       {"A", "B", "C"},
       false,
       "r1 Completed"},
      {"the request is gone, the result stays",
       "null",
       "{'observedID':'r1','phase':'Completed'}",
       {"A", "B", "C"},
       false,
       "r1 Completed"},
      {"the request is gone midway",
       "null",
       "{'observedID':'r1','phase':'Restarting','inProgress':['C']}",
       {"A", "B", "C"},
       false,
       "none"},
      {"a rolling update is in progress", "{'id':'r1'}", "null", {"A", "B", "C"}, true, "r1 Superseded"},
      {"superseded stays",
       "{'id':'r1'}",
       "{'observedID':'r1','phase':'Superseded'}",
       {"A", "B", "C"},
       false,
       "r1 Superseded"},
      {"nothing runs yet", "{'id':'r1'}", "null", {}, false, "r1 Completed"},
      {"a service that the graph no longer has holds up nobody",
       parallel.c_str(),
       "{'observedID':'r1','phase':'Restarting','inProgress':['X']}",
       {"A:r1", "B:r1", "C:r1"},
       false,
       "r1 Completed"},
      {"status without services goes on from the beginning",
       "{'id':'r1'}",
       "{'observedID':'r1','phase':'Restarting'}",
       {"A:r1", "B", "C"},
       false,
       "r1 Restarting B"}};
  for (const Row& row : rows) {
    INFO(row.name);
    World world{graphText(kServices, "", "{'restart':" + std::string{row.status} + "}",
                          ",'restart':" + std::string{row.request})};
    for (const std::string& service : row.services) world.components.add(component(service));
    const GraphView view = world.view();
    const RestartStep step = restartStep(view, serviceStates(view), row.rolls);
    CHECK(stepText(step, world.memory.GetAllocator()) == row.next);
    CHECK(step.events.size() == (row.rolls ? 1 : 0));
  }
}

TEST_CASE("a service on Grove has restarted when the set is observed and its clique is ready") {
  struct Row {
    const char* name;
    int observed;
    const char* carried;
    int ready;
    const char* next;
  };
  const Row rows[] = {{"done", 2, "r1", 1, "r1 Completed"},
                      {"the set is not observed", 1, "r1", 1, "r1 Restarting A"},
                      {"the set does not carry the id", 2, "r0", 1, "r1 Restarting A"},
                      {"the clique is not ready", 2, "r1", 0, "r1 Restarting A"}};
  for (const Row& row : rows) {
    INFO(row.name);
    World world{graphText("{'A':{}}", "",
                          "{'restart':{'observedID':'r1','phase':'Restarting','inProgress':['A']}}",
                          ",'restart':{'id':'r1'}")};
    world.grove = true;
    world.set = parsed(
        "{'metadata':{'generation':2},'spec':{'template':{'cliques':[{'name':'b'},{'name':'a',"
        "'annotations':{'nvidia.com/restartAt':'" +
        std::string{row.carried} + "'}}]}},'status':{'observedGeneration':" + std::to_string(row.observed) +
        "}}");
    world.cliques.add(
        "{'metadata':{'name':'g-0-a','generation':1},'spec':{'replicas':1},'status':{"
        "'observedGeneration':1,'replicas':1,'updatedReplicas':1,'readyReplicas':" +
        std::to_string(row.ready) + "}}");
    const GraphView view = world.view();
    const RestartStep step = restartStep(view, serviceStates(view), false);
    CHECK(stepText(step, world.memory.GetAllocator()) == row.next);
  }
}

}  // namespace
}  // namespace dynamo::lifecycle::test
