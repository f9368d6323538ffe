#include "common/admission/repair.h"

#include <algorithm>
#include <array>
#include <vector>

#include "common/admission/validate.h"
#include "common/field/path.h"

namespace dynamo::admission {
namespace {

using field::FieldError;
using field::Findings;
using field::Path;
using field::PathView;
using json::Value;

constexpr int kMaxRounds = 3;

/// What stands in for a value that ends rendering.
enum class Stand { Nothing, Text, Directory, List };

struct Repair {
  std::string_view rule;
  Stand stand;
};
constexpr std::array kRepairs = {
    Repair{"render.lws-command", Stand::List},      Repair{"render.lws-replicas", Stand::Nothing},
    Repair{"render.quantity", Stand::Nothing},      Repair{"render.mount-name", Stand::Text},
    Repair{"render.mount-point", Stand::Directory}, Repair{"render.checkpoint", Stand::Nothing},
};

Value* mutableAt(Value& object, PathView path) {
  return const_cast<Value*>(field::valueAt(object, path));
}

/// The last segment of a path that is not empty.
PathView lastOf(PathView path) {
  while (!path.rest().empty()) path = path.rest();
  return path;
}

/// Lists with names that other fields refer to.
constexpr std::array<std::string_view, 8> kNaming = {
    "volumes", "volumeMounts", "pvcs", "resourceClaims", "claims", "containers", "initContainers", "ports"};

/// A copy of an object, and the fields in which it differs.
class RepairedCopy {
 public:
  explicit RepairedCopy(const Value& object) : object_{json::copy(object, document_.GetAllocator())} {}

  const Value& object() const { return object_; }
  bool concerns(PathView path) const {
    return std::any_of(fields_.begin(), fields_.end(),
                       [&](const Path& field) { return path.isWithin(field); });
  }

  /// Whether an error says that something is not found which a repaired list may have had.
  bool mayHaveHad(const FieldError& error) const {
    return error.type == field::ErrorType::NotFound &&
           std::any_of(besideLists_.begin(), besideLists_.end(),
                       [&](const Path& holder) { return error.field.isWithin(holder); });
  }

  /// Returns false if the error cannot be repaired.
  bool repair(const FieldError& error) {
    const auto known = std::find_if(kRepairs.begin(), kRepairs.end(),
                                    [&](const Repair& each) { return each.rule == error.rule; });
    if (known == kRepairs.end() || concerns(error.field)) return false;
    return known->stand == Stand::Nothing ? remove(error.field) : set(error.field, known->stand);
  }

  /// Removes the value at `path`. For an item it removes the list, because the others must keep their index.
  bool remove(const Path& path) {
    if (path.empty()) return false;
    const Path holder{path.view().before(lastOf(path))};
    if (path.view().back().isIndex()) return remove(holder);
    Value* object = mutableAt(object_, holder);
    if (object == nullptr || !object->IsObject()) return false;
    noteList(path);
    json::remove(*object, path.view().back().name);
    fields_.push_back(path);
    return true;
  }

 private:
  /// Remembers the object of the list that `path` is, or that contains it.
  void noteList(const Path& path) {
    PathView left = path;
    while (!left.empty() && !left.front().isIndex()) left = left.rest();
    const Path list{path.view().before(left)};
    const field::Segment last = list.empty() ? field::Segment{} : list.view().back();
    if (std::find(kNaming.begin(), kNaming.end(), last.name) == kNaming.end()) return;
    const Value* value = field::valueAt(object_, list);
    if (value != nullptr && value->IsArray()) besideLists_.emplace_back(list.view().before(lastOf(list)));
  }

  bool set(const Path& path, Stand stand) {
    auto& allocator = document_.GetAllocator();
    Value* at = &object_;
    for (PathView left = path; !left.rest().empty(); left = left.rest()) {
      const field::Segment segment = left.front();
      if (!segment.isIndex() && at->IsObject()) {
        if (json::find(*at, segment.name) == nullptr) json::ensureObject(*at, segment.name, allocator);
      }
      at = mutableAt(*at, Path{}.append(segment));
      if (at == nullptr) return false;
    }
    const field::Segment last = path.view().back();
    if (!at->IsObject() || last.isIndex()) return false;
    Value value = json::string(stand == Stand::Directory ? "/repaired" : "repaired", allocator);
    if (stand == Stand::List) {
      Value list{rapidjson::kArrayType};
      list.PushBack(value, allocator);
      value = std::move(list);
    }
    json::set(*at, last.name, std::move(value), allocator);
    fields_.push_back(path);
    return true;
  }

  json::Document document_;
  Value object_;
  std::vector<Path> fields_;
  std::vector<Path> besideLists_;
};

bool isRepairable(const FieldError& error) {
  return std::any_of(kRepairs.begin(), kRepairs.end(),
                     [&](const Repair& each) { return each.rule == error.rule; });
}

}  // namespace

Findings dryRenderRepaired(const Kind& kind, const Value& object, const render::Context& context,
                           bool wellTyped) {
  Findings all;
  // Rendering reads every field, so wrong types are removed before.
  const std::vector<FieldError> types =
      wellTyped ? std::vector<FieldError>{} : wrongTypes(object, nullptr).errors;
  if (types.empty()) {
    all = kind.dryRender(object, context);
    if (std::none_of(all.errors.begin(), all.errors.end(), isRepairable)) return all;
  }
  RepairedCopy copy{object};
  for (const FieldError& error : types) {
    if (!copy.concerns(error.field) && !copy.remove(error.field)) return all;
  }
  for (const FieldError& error : all.errors) copy.repair(error);
  for (int round = 0; round < kMaxRounds; ++round) {
    Findings found = kind.dryRender(copy.object(), context);
    std::erase_if(found.errors, [&](const FieldError& error) {
      return copy.concerns(error.field) || copy.mayHaveHad(error);
    });
    std::erase_if(found.warnings,
                  [&](const field::Warning& warning) { return copy.concerns(warning.field); });
    bool repaired = false;
    for (const FieldError& error : found.errors) repaired = copy.repair(error) || repaired;
    all.add(std::move(found));
    if (!repaired) break;
  }
  // Each round finds again what no repair concerns.
  all.sort();
  return all;
}

}  // namespace dynamo::admission
