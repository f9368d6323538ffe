#pragma once
// Runs defaulting as admission does.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/defaults/apply.h"
#include "common/json/parse.h"

namespace dynamo::test {

/// Parses `text`; throws when it is no JSON.
inline json::Value parse(std::string_view text, json::Allocator& allocator) {
  json::Document document;
  if (const auto error = json::parse(text, document)) {
    throw std::logic_error{error->message() + " in " + std::string{text}};
  }
  return json::copy(document, allocator);
}

/// The value at an RFC 6901 pointer as compact JSON; "-" when there is none.
inline std::string at(const json::Value& object, std::string_view pointer) {
  const rapidjson::GenericPointer<json::Value> path{pointer.data(), pointer.size()};
  if (!path.IsValid()) throw std::logic_error{"bad pointer " + std::string{pointer}};
  const json::Value* value = path.Get(object);
  return value == nullptr ? "-" : json::dump(*value);
}

/// The schema rejects null services, so none is stored.
inline void dropNullServices(json::Value& object) {
  json::Value* spec = json::find(object, "spec");
  json::Value* services = spec == nullptr ? nullptr : json::find(*spec, "services");
  if (services == nullptr || !services->IsObject()) return;
  for (auto each = services->MemberBegin(); each != services->MemberEnd();) {
    each = each->value.IsNull() ? services->EraseMember(each) : each + 1;
  }
}

/// A webhook with its own configuration.
class Admission {
 public:
  /// `overlay` is the `defaults` of OperatorConfiguration as JSON, or empty.
  explicit Admission(std::string_view overlay = {}) : components_(read(overlay)) {}
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  json::Value create(const json::Value& request, json::Allocator& allocator) const {
    return admit(request, nullptr, allocator, nullptr);
  }
  json::Value update(const json::Value& request, const json::Value& old, json::Allocator& allocator,
                     std::vector<std::string>* warnings = nullptr) const {
    return admit(request, &old, allocator, warnings);
  }

  json::Value withDefaultsOfPods(const json::Value& object, json::Allocator& allocator) const {
    json::Value made = json::copy(object, allocator);
    defaults::addDefaultsOfPods(made, {components_, config, "1.0.0", "ns"}, allocator);
    return made;
  }

  config::OperatorConfig config = config::defaultConfig();

 private:
  const json::Value* read(std::string_view overlay) {
    if (overlay.empty()) return nullptr;
    if (json::parse(overlay, overlay_)) throw std::logic_error{"overlay does not parse"};
    return &overlay_;
  }

  json::Value admit(const json::Value& request, const json::Value* old, json::Allocator& allocator,
                    std::vector<std::string>* warnings) const {
    json::Value object = json::copy(request, allocator);
    dropNullServices(object);
    const defaults::DefaultResult result =
        defaults::applyComponentDefaults(object, old, {components_, config, "1.0.0", "ns"}, allocator);
    for (const auto& warning : result.warnings) {
      if (warnings != nullptr) warnings->push_back(warning.message());
    }
    return object;
  }

  json::Document overlay_;
  model::ComponentDefaults components_;
};

}  // namespace dynamo::test
