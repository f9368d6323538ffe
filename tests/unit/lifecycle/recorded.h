#pragma once
// Recordings of the reference over the life of objects (tests/reference/README.md), converted back into
// objects. A recording holds facts only. The other fields get equivalent values: generations start at 1,
// times are arbitrary, uids are made of names.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::lifecycle::test {

std::string recordingsFolder();

/// Names of all recordings, sorted.
std::vector<std::string> recordingNames();

/// An object after a step.
struct Recorded {
  std::string kind;
  std::string name;
  const json::Value* facts = nullptr;
  json::Value object;
};

class Recording {
 public:
  explicit Recording(const std::string& name);

  struct Step {
    std::string name;
    std::vector<Recorded> objects;
    /// PodCliqueSets before the operator wrote them in this step, by name.
    std::map<std::string, json::Value> setsBefore;
    std::vector<std::string> graphEvents;  ///< reasons of the Events about graphs
    bool grove = false;
  };

  const std::vector<Step>& steps() const { return steps_; }
  json::Allocator& allocator() { return memory_.GetAllocator(); }

 private:
  struct Life {
    long long generation = 1;
    json::Value status;
  };

  void play(const json::Value& actions, bool refused);
  void act(const json::Value& action, bool refused);
  json::Value objectOf(const std::string& kind, const std::string& name, const json::Value& facts,
                       const json::Value* before);
  json::Value graphOf(const std::string& name, const json::Value& facts, const json::Value* before);
  void addStatus(const std::string& key, json::Value& object);

  json::Document memory_;
  json::Document recorded_;
  json::Document scenario_;
  bool grove_ = false;
  std::map<std::string, json::Value> manifests_;  ///< of graphs, by name
  std::map<std::string, Life> lives_;             ///< "Kind/name"
  std::vector<json::Value> pending_;              ///< status actions, until their object is recorded
  std::vector<Step> steps_;
};

/// The stored status, from the facts of a recording. `moved`: the spec is newer than the observed generation.
json::Value storedStatus(const json::Value* facts, bool moved, json::Allocator& allocator);

}  // namespace dynamo::lifecycle::test
