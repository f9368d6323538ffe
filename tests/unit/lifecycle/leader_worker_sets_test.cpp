// Which LeaderWorkerSets run a component (decision ctl-Q54).
#include "common/lifecycle/leader_worker_sets.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

constexpr const char* kOfComponent = "u";

std::string set(const std::string& name, int ready, const char* owner = kOfComponent,
                const char* metadata = "") {
  return "{'kind':'LeaderWorkerSet','metadata':{'name':'" + name + "','ownerReferences':[{'uid':'" + owner +
         "','controller':true}]" + metadata +
         "},'spec':{'replicas':1},'status':{'readyReplicas':" + std::to_string(ready) + "}}";
}

std::string scaledTo0(const std::string& name) {
  std::string text = set(name, 0);
  return text.replace(text.find("'replicas':1"), 12, "'replicas':0");
}

std::string numbersOf(int replicas, const std::vector<std::string>& sets) {
  const json::Document component =
      parsed("{'metadata':{'name':'g.web','uid':'u'},'spec':{'replicas':" + std::to_string(replicas) + "}}");
  const Objects observed{sets};
  std::string text;
  for (const long long number : setNumbers(component, observed.view()))
    text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

}  // namespace

TEST_CASE("sets that exist stay, and of too many those that serve") {
  struct Row {
    const char* about;
    int replicas;
    std::vector<std::string> sets;
    const char* numbers;
  };
  const char* const deleted = ",'deletionTimestamp':'2026-01-01T00:00:00Z'";
  const Row rows[] = {
      {"a new component", 3, {}, "0 1 2"},
      {"no replicas", 0, {set("g-web-0", 1)}, ""},
      {"all exist", 2, {set("g-web-0", 0), set("g-web-1", 1)}, "0 1"},
      {"more replicas", 3, {set("g-web-0", 1)}, "0 1 2"},
      {"fewer replicas, all serve", 1, {set("g-web-0", 1), set("g-web-1", 1)}, "0"},
      {"fewer replicas, none serves", 1, {set("g-web-0", 0), set("g-web-1", 0)}, "0"},
      {"fewer replicas, the last serves", 1, {set("g-web-0", 0), set("g-web-1", 1)}, "1"},
      {"fewer replicas, the first is scaled to 0 by hand", 1, {scaledTo0("g-web-0"), set("g-web-1", 1)}, "1"},
      {"two of four", 2, {set("g-web-0", 0), set("g-web-1", 1), set("g-web-2", 0), set("g-web-3", 1)}, "1 3"},
      {"three of four",
       3,
       {set("g-web-0", 0), set("g-web-1", 0), set("g-web-2", 0), set("g-web-3", 1)},
       "0 1 3"},
      {"what stayed stays", 1, {set("g-web-3", 0)}, "3"},
      {"more replicas after that", 2, {set("g-web-3", 1)}, "0 3"},
      {"a set that is gone comes back", 3, {set("g-web-0", 1), set("g-web-2", 1)}, "0 1 2"},
      {"a set that is being deleted comes back",
       2,
       {set("g-web-0", 1, kOfComponent, deleted), set("g-web-1", 1)},
       "0 1"},
      {"sets of others and other names",
       1,
       {set("g-web-5", 1, "other"), set("g-web-x", 1), set("g-web-01", 1), set("g-web-", 1), set("g-web", 1),
        "{'kind':'PodGroup','metadata':{'name':'g-web-7','ownerReferences':[{'uid':'u','controller':true}]}"
        "}"},
       "0"},
      {"more replicas than can be rendered", 1001, {set("g-web-0", 1)}, ""},
  };
  for (const Row& row : rows) {
    INFO(row.about);
    CHECK(numbersOf(row.replicas, row.sets) == row.numbers);
  }
}

}  // namespace dynamo::lifecycle::test
