#include "recorded.h"

#include <fnmatch.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/names.h"
#include "common/text/yaml.h"
#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

using json::Value;

std::string fileText(const std::string& path) {
  std::ifstream file{path};
  REQUIRE(file);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string text(const Value& object, const char* key) {
  return std::string{json::findText(&object, key)};
}

}  // namespace

std::vector<std::string> recordingNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator{recordingsFolder() + "/golden"})
    names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Value storedStatus(const Value* facts, bool moved, json::Allocator& allocator) {
  const json::Maker make{allocator};
  if (facts == nullptr || !facts->IsObject()) return make.object();
  Value status = make.value(*facts);
  if (json::find(status, "observedGeneration") != nullptr) {
    const bool current = json::findText(&status, "observedGeneration") == "current";
    make.set(status, "observedGeneration", current && !moved ? 2 : 1);
  }
  if (Value* conditions = json::find(status, "conditions")) {
    for (Value& condition : conditions->GetArray()) {
      json::remove(condition, "moved");
      make.set(condition, "lastTransitionTime", "2026-01-01T00:00:00Z");
    }
  }
  return status;
}

Recording::Recording(const std::string& name) {
  const std::string golden = fileText(recordingsFolder() + "/golden/" + name + ".json");
  REQUIRE_FALSE(json::parse(golden, recorded_));
  auto read = text::parseDocuments(fileText(recordingsFolder() + "/scenarios/" + name + ".yaml"));
  REQUIRE_FALSE(read.error);
  scenario_.CopyFrom(read.documents.at(0).value, scenario_.GetAllocator());
  grove_ = text(scenario_, "set") == "grove";
  const Value& steps = *json::find(recorded_, "steps");
  const Value& played = *json::find(scenario_, "steps");
  REQUIRE(steps.Size() == played.Size());
  const Value* before = nullptr;
  for (rapidjson::SizeType i = 0; i < steps.Size(); ++i) {
    const Value& objects = *json::find(steps[i], "objects");
    bool refused = false;
    for (const Value& answer : json::find(steps[i], "answers")->GetArray())
      refused = refused || !json::findBool(&answer, "ok").value_or(true);
    play(played[i], refused);
    Step step;
    step.name = text(steps[i], "step");
    step.grove = grove_;
    for (const Value& event : json::find(steps[i], "events")->GetArray()) {
      std::stringstream words{std::string{json::text(event)}};
      std::string kind;
      std::string type;
      std::string reason;
      words >> kind >> type >> reason;
      if (kind == "DynamoGraphDeployment") step.graphEvents.push_back(reason);
    }
    for (const auto& entry : objects.GetObject()) {
      const std::string key{json::text(entry.name)};
      const std::size_t slash = key.find('/');
      Recorded made{key.substr(0, slash), key.substr(slash + 1), &entry.value, Value{}};
      const Value* earlier = before == nullptr ? nullptr : json::find(*before, key);
      if (made.kind == "DynamoGraphDeployment" && grove_) {
        const Value* notes = json::find(entry.value, "annotations");
        step.grove = json::findText(notes, "nvidia.com/enable-grove") != "false";
      }
      if (made.kind == "PodCliqueSet" && json::findBool(&entry.value, "specMoved").value_or(false)) {
        step.setsBefore.emplace(made.name, objectOf(made.kind, made.name, *earlier, nullptr));
        ++lives_[key].generation;
      }
      made.object = objectOf(made.kind, made.name, entry.value, earlier);
      step.objects.push_back(std::move(made));
    }
    before = &objects;
    steps_.push_back(std::move(step));
  }
}

void Recording::play(const Value& step, bool refused) {
  const Value* several = json::find(step, "do");
  if (several == nullptr) return act(step, refused);
  for (const Value& action : several->GetArray()) act(action, refused);
}

void Recording::act(const Value& action, bool refused) {
  if (const Value* applied = json::find(action, "apply")) {
    for (const Value& object : applied->GetArray()) {
      if (text(object, "kind") != "DynamoGraphDeployment") continue;
      manifests_[text(*json::find(object, "metadata"), "name")] = json::copy(object, allocator());
    }
  }
  const Value* patch = json::find(action, "patch");
  if (patch != nullptr && !refused && text(*patch, "kind") == "DynamoGraphDeployment")
    mergePatch(manifests_[text(*patch, "name")], *json::find(*patch, "merge"), allocator());
  if (const Value* status = json::find(action, "status"))
    pending_.push_back(json::copy(*status, allocator()));
}

/// A status that the scenario wrote stays until the object is replaced.
void Recording::addStatus(const std::string& key, Value& object) {
  Life& life = lives_[key];
  const json::Maker make{allocator()};
  for (const Value& status : pending_) {
    const std::string pattern = text(status, "kind") + '/' + text(status, "name");
    if (fnmatch(pattern.c_str(), key.c_str(), 0) != 0) continue;
    life.status = make.value(*json::find(status, "set"));
    if (json::find(life.status, "observedGeneration") != nullptr)
      make.set(life.status, "observedGeneration", life.generation);
  }
  make.set(*json::find(object, "metadata"), "generation", life.generation);
  if (!life.status.IsNull()) make.set(object, "status", life.status);
}

Value Recording::graphOf(const std::string& name, const Value& facts, const Value* before) {
  const json::Maker make{allocator()};
  const auto manifest = manifests_.find(name);
  Value object = manifest == manifests_.end() ? make.object() : make.value(manifest->second);
  const Value* spec = json::find(facts, "spec");
  Value& own = json::ensureObject(object, "spec", allocator());
  Value& services = json::ensureObject(own, "services", allocator());
  for (const auto& entry : json::find(*spec, "replicas")->GetObject()) {
    Value& service = json::ensureObject(services, json::text(entry.name), allocator());
    make.set(service, "replicas", entry.value);
    // For a graph that a request created, only the hash in their names identifies the workers.
    const Value* status = json::findObject(json::findObject(json::findObject(&facts, "status"), "services"),
                                           json::text(entry.name));
    if (manifest == manifests_.end() &&
        json::findText(status, "componentName").find("HASH") != std::string::npos)
      make.set(service, "componentType", "worker");
  }
  make.set(own, "restart", *json::findRaw(*spec, "restart"));
  Value annotations = make.value(*json::find(before == nullptr ? facts : *before, "annotations"));
  if (before == nullptr) json::remove(annotations, "nvidia.com/current-worker-hash");
  make.set(object, "metadata",
           make.object("name", name, "namespace", "NS", "uid", "DynamoGraphDeployment/" + name, "generation",
                       2, "annotations", std::move(annotations)));
  const bool moved = json::findBool(&facts, "specMoved").value_or(false);
  make.set(object, "status",
           storedStatus(before == nullptr ? nullptr : json::find(*before, "status"), moved, allocator()));
  return object;
}

Value Recording::objectOf(const std::string& kind, const std::string& name, const Value& facts,
                          const Value* before) {
  const json::Maker make{allocator()};
  const std::string key = kind + '/' + name;
  if (kind == "DynamoGraphDeployment") {
    Value graph = graphOf(name, facts, json::findBool(&facts, "fresh").value_or(false) ? nullptr : before);
    make.set(graph, "kind", kind);
    return graph;
  }
  if (json::findBool(&facts, "fresh").value_or(false) && before != nullptr) lives_.erase(key);
  Value owners = make.list();
  for (const Value& owner : json::find(facts, "owner")->GetArray()) {
    const std::string whole{json::text(owner)};
    make.push(owners, make.object("controller", whole.find(' ') == std::string::npos, "uid",
                                  whole.substr(0, whole.find(' '))));
  }
  Value object = make.object("kind", kind, "metadata",
                             make.object("name", name, "namespace", "NS", "uid", key, "generation", 2,
                                         "ownerReferences", std::move(owners)));
  Value& metadata = *json::find(object, "metadata");
  if (json::findBool(&facts, "deleting").value_or(false)) make.set(metadata, "deletionTimestamp", "t");
  const Value* replicas = json::find(facts, "replicas");
  Value spec = make.object();
  if (replicas != nullptr) make.set(spec, "replicas", *replicas);
  if (kind == "DynamoGraphDeploymentScalingAdapter") {
    spec = make.value(*json::find(facts, "spec"));
    make.set(object, "status",
             storedStatus(before == nullptr ? nullptr : json::find(*before, "status"), true, allocator()));
  } else if (kind == "DynamoComponentDeployment") {
    const Value* labels = json::findObject(&facts, "labels");
    const Value* recorded = json::findObject(&facts, "spec");
    const std::string_view hash = json::findText(labels, "nvidia.com/dynamo-worker-hash");
    if (labels != nullptr) make.set(metadata, "labels", *labels);
    make.set(metadata, "creationTimestamp", "2026-01-01T00:00:00Z" + std::string{hash});
    spec = make.object("serviceName", json::findText(labels, "nvidia.com/dynamo-component"), "annotations",
                       make.object("nvidia.com/restartAt", json::findText(recorded, "restartAt")));
    if (!hash.empty()) make.set(spec, "componentType", "worker");
    if (const Value* count = json::find(recorded, "replicas")) make.set(spec, "replicas", *count);
    make.set(object, "status", storedStatus(json::find(facts, "status"), false, allocator()));
  } else if (kind == "Deployment") {
    Value status = make.value(*json::find(facts, "pods"));
    const bool available = json::find(status, "availableReplicas")->GetInt64() >= replicas->GetInt64();
    make.set(status, "observedGeneration", 2);
    make.set(status, "conditions",
             make.list(make.object("type", "Available", "status", available ? "True" : "False")));
    make.set(object, "status", std::move(status));
  } else {
    if (const Value* cliques = json::find(facts, "cliques")) {
      Value list = make.list();
      for (const auto& clique : cliques->GetObject()) {
        const std::string_view restart = json::findText(&clique.value, "restartAt");
        make.push(list, make.object("name", json::text(clique.name), "annotations",
                                    make.object("nvidia.com/restartAt", restart)));
      }
      make.set(spec, "template", make.object("cliques", std::move(list)));
    }
    // In a step that scales, the scaling comes first. The scenario then writes in place of Grove.
    if (kind != "PodCliqueSet" && json::findBool(&facts, "specMoved").value_or(false))
      ++lives_[key].generation;
    addStatus(key, object);
    std::erase_if(pending_, [&](const Value& status) {
      const std::string pattern = text(status, "kind") + '/' + text(status, "name");
      return fnmatch(pattern.c_str(), key.c_str(), 0) == 0;
    });
  }
  make.set(object, "spec", std::move(spec));
  return object;
}

}  // namespace dynamo::lifecycle::test
