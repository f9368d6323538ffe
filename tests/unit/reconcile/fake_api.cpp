#include "fake_api.h"

#include <algorithm>

#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/managed_fields.h"
#include "tests/unit/lifecycle/support.h"

namespace dynamo::controller::test {
namespace {

using json::Document;
using json::Value;
using kube::test::bodyOf;
using kube::test::failure;
using kube::test::headerOf;
using kube::test::lineOf;
using kube::test::reply;
using lifecycle::test::mergePatch;

Document documentOf(const std::string& text) {
  Document document;
  if (json::parse(text, document)) throw std::runtime_error{"not JSON: " + text};
  return document;
}

/// fieldsV1 of `value`. Lists are atomic.
Value fieldsOf(const Value& value, const json::Maker& make) {
  Value fields = make.object();
  if (!value.IsObject()) return fields;
  for (const auto& member : value.GetObject()) {
    make.set(fields, "f:" + std::string{json::text(member.name)}, fieldsOf(member.value, make));
  }
  return fields;
}

/// Removes from `object` the members that are in `before`, in no other fields of `others`, and not in `after`
/// (nullptr: in none), as server-side apply does with what a manager applies no more.
void prune(Value& object, const Value& before, const Value* after, const std::vector<const Value*>& others) {
  using k8s::managed::kField;
  using k8s::managed::member;
  for (const auto& each : before.GetObject()) {
    const std::string_view field = json::text(each.name);
    if (!field.starts_with(kField)) continue;
    const std::string_view name = field.substr(kField.size());
    Value* value = json::find(object, name);
    if (value == nullptr) continue;
    std::vector<const Value*> below;
    for (const Value* other : others) {
      if (const Value* owned = member(other, name)) below.push_back(owned);
    }
    const Value* kept = member(after, name);
    if (kept == nullptr && below.empty()) {
      json::remove(object, name);
    } else if (value->IsObject()) {
      prune(*value, each.value, kept, below);
    }
  }
}

/// Makes `fields` what `manager` owns by apply, and removes what it owned before and does not own now.
void setApplied(Value& object, std::string_view manager, Value fields, const json::Maker& make) {
  const Value* stored = json::find(json::find(object, "metadata"), "managedFields");
  const Value known = stored == nullptr ? make.list() : make.value(*stored);
  Value entries = make.list();
  const Value* before = nullptr;
  std::vector<const Value*> others;
  for (const Value& entry : known.GetArray()) {
    const Value* owned = json::find(entry, "fieldsV1");
    if (json::findText(&entry, "manager") == manager && json::findText(&entry, "operation") == "Apply") {
      before = owned;
    } else {
      others.push_back(owned);
      make.push(entries, entry);
    }
  }
  if (before != nullptr) prune(object, *before, &fields, others);
  make.push(entries, make.object("manager", manager, "operation", "Apply", "fieldsType", "FieldsV1",
                                 "fieldsV1", std::move(fields)));
  make.set(json::ensureObject(object, "metadata", make.allocator()), "managedFields", std::move(entries));
}

std::string managerOf(const std::string& request) {
  const std::string target = lineOf(request);
  const auto at = target.find("fieldManager=");
  const auto begin = at + std::string_view{"fieldManager="}.size();
  return at == std::string::npos ? "" : target.substr(begin, target.find('&', begin) - begin);
}

/// The name that the field selector of a list selects; empty: none.
std::string nameIn(const std::string& request) {
  static constexpr std::string_view kSelector = "fieldSelector=metadata.name%3D";
  const std::string target = lineOf(request);
  const auto at = target.find(kSelector);
  if (at == std::string::npos) return "";
  const auto begin = at + kSelector.size();
  return target.substr(begin, target.find_first_of("& ", begin) - begin);
}

/// Whether the preconditions in the metadata of `body` hold for `stored`.
bool holds(const Value* expected, const Value& stored) {
  const Value* metadata = json::find(stored, "metadata");
  for (const char* name : {"uid", "resourceVersion"}) {
    const std::string_view value = json::findText(expected, name);
    if (!value.empty() && value != json::findText(metadata, name)) return false;
  }
  return true;
}

}  // namespace

std::string lineWithoutQuery(const std::string& request) {
  const std::string line = lineOf(request);
  return line.substr(0, line.find('?'));
}

FakeApi::FakeApi(Script script, Change change, Delay delay)
    : script_(std::move(script)), change_(std::move(change)), delay_(std::move(delay)) {
  const auto answered = [this](std::string request, int number) -> runtime::Task<std::string> {
    if (delay_) co_await delay_(number);
    co_return answer(request, number);
  };
  requests_ = std::make_shared<kube::test::FakeRoundTripper>(answered);
}

void FakeApi::store(const std::string& path, const std::string& object) {
  save(path, lifecycle::test::parsed(object));
}

void FakeApi::remove(const std::string& path) {
  objects_.erase(path);
}

std::string FakeApi::at(const std::string& path) const {
  const auto found = objects_.find(path);
  return found == objects_.end() ? "" : found->second;
}

std::string FakeApi::lines() const {
  std::string text;
  for (const std::string& request : requests()) text += lineWithoutQuery(request) + "\n";
  return text;
}

std::string FakeApi::sorted() const {
  std::vector<std::string> all;
  for (const std::string& request : requests()) all.push_back(lineWithoutQuery(request));
  std::sort(all.begin(), all.end());
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

std::vector<std::string> FakeApi::bodies(std::string_view line) const {
  std::vector<std::string> found;
  for (const std::string& request : requests()) {
    if (lineWithoutQuery(request) == line) found.push_back(bodyOf(request));
  }
  return found;
}

std::string FakeApi::answer(const std::string& request, int number) {
  const std::string line = lineWithoutQuery(request);
  if (script_) {
    if (auto scripted = script_(line, number)) return *scripted;
  }
  const auto space = line.find(' ');
  const std::string method = line.substr(0, space);
  const std::string path = line.substr(space + 1);
  if (method == "POST") return create(request, path);
  if (method == "PATCH") return patch(request, path);
  if (const auto name = nameIn(request); method == "GET" && !name.empty()) {
    const auto named = objects_.find(path + "/" + name);
    return reply(200, R"({"items":[)" + (named == objects_.end() ? "" : named->second) + "]}");
  }
  const auto found = objects_.find(path);
  if (found == objects_.end()) return failure(404, "NotFound");
  return method == "DELETE" ? erase(request, path) : reply(200, found->second);
}

std::string FakeApi::save(const std::string& path, Document object) {
  if (change_) change_(object);
  auto& allocator = object.GetAllocator();
  Value& metadata = json::ensureObject(object, "metadata", allocator);
  const std::string version = std::to_string(++version_);
  if (json::find(metadata, "uid") == nullptr)
    json::set(metadata, "uid", json::string("uid-" + version, allocator), allocator);
  json::set(metadata, "resourceVersion", json::string(version, allocator), allocator);
  objects_[path] = json::dump(object);
  return objects_[path];
}

std::string FakeApi::create(const std::string& request, const std::string& path) {
  Document body = documentOf(bodyOf(request));
  const std::string name{json::findText(json::find(body, "metadata"), "name")};
  const std::string full = path + "/" + name;
  if (objects_.contains(full)) return failure(409, "AlreadyExists");
  return reply(201, save(full, std::move(body)));
}

std::string FakeApi::patch(const std::string& request, const std::string& path) {
  const std::string type = headerOf(request, "Content-Type");
  const auto slash = path.rfind('/');
  const std::string last = path.substr(slash + 1);
  const bool scale = last == "scale";
  const std::string target = scale || last == "status" ? path.substr(0, slash) : path;
  const Document body = documentOf(bodyOf(request));
  const auto stored = objects_.find(target);
  const bool apply = type.starts_with("application/apply-patch");
  if (stored == objects_.end() && !apply) return failure(404, "NotFound");
  // Without force, a value of another manager is a conflict. Every stored object counts as such.
  const std::string line = kube::test::lineOf(request);
  if (stored != objects_.end() && apply && line.find("force=true") == std::string::npos)
    return failure(409, "Conflict");
  Document object = stored == objects_.end() ? Document{rapidjson::kObjectType} : documentOf(stored->second);
  auto& allocator = object.GetAllocator();
  const json::Maker make{allocator};
  if (type.starts_with("application/json-patch")) {
    for (const Value& operation : body.GetArray()) {
      const Value& value = *json::find(operation, "value");
      if (json::findText(&operation, "path") == "/status") {
        make.set(object, "status", value);
      } else if (json::text(value) != json::findText(json::find(object, "metadata"), "resourceVersion")) {
        return failure(409, "Conflict");
      }
    }
    return reply(200, save(target, std::move(object)));
  }
  if (!holds(json::find(body, "metadata"), object)) return failure(409, "Conflict");
  mergePatch(object, body, allocator);
  if (apply) {
    Value owned = make.object();
    for (const char* part : {"metadata", "spec", "data", "rules", "subjects"}) {
      const Value* value = json::find(body, part);
      if (value != nullptr) make.set(owned, "f:" + std::string{part}, fieldsOf(*value, make));
    }
    if (Value* metadata = json::find(owned, "f:metadata")) json::remove(*metadata, "f:resourceVersion");
    setApplied(object, managerOf(request), std::move(owned), make);
  }
  const std::string saved = save(target, std::move(object));
  return reply(200, scale ? R"({"apiVersion":"autoscaling/v1","kind":"Scale"})" : saved);
}

std::string FakeApi::erase(const std::string& request, const std::string& path) {
  Document object = documentOf(objects_[path]);
  const std::string text = bodyOf(request);
  if (!text.empty()) {
    const Document options = documentOf(text);
    if (!holds(json::find(options, "preconditions"), object)) return failure(409, "Conflict");
  }
  auto& allocator = object.GetAllocator();
  Value& metadata = *json::find(object, "metadata");
  if (json::find(metadata, "finalizers") != nullptr) {
    json::set(metadata, "deletionTimestamp", json::string("2026-01-02T03:04:05Z", allocator), allocator);
    return reply(200, save(path, std::move(object)));
  }
  objects_.erase(path);
  return reply(200, R"({"apiVersion":"v1","kind":"Status","status":"Success"})");
}

}  // namespace dynamo::controller::test
