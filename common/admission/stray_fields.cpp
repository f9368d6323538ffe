#include "common/admission/stray_fields.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "common/admission/field_advice.h"
#include "common/admission/schema_search.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/schema/registry.h"

namespace dynamo::admission {
namespace {

using field::Path;
using json::Value;

const schema::Node& serviceNode() {
  static const schema::Node& kService =
      *schema::find(api::kV1alpha1, api::kDynamoComponentDeployment)->property("spec")->node;
  return kService;
}

/// The advice about a field of a service that has another name or another place.
std::optional<Advice> adviceIn(const std::string& service, std::string_view name, const Value& value) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  const Value graph = make.object(
      "spec", make.object("services", make.object(service, make.object(name, make.value(value)))));
  return adviceFor(api::kDynamoGraphDeployment, "v1alpha1", graph, Path{"spec.services"}.key(service) / name);
}

}  // namespace

std::vector<StrayField> strayFields(const Value& services) {
  std::vector<StrayField> strays;
  if (!services.IsObject()) return strays;
  std::string service;  // the last one without a body
  for (const auto& member : services.GetObject()) {
    const std::string_view name = json::text(member.name);
    const Value& value = member.value;
    const schema::Property* property = serviceNode().property(name);
    if (value.IsNull()) {
      service = name;
      continue;
    }
    const bool bodyMissing = !service.empty();
    const auto advice = property == nullptr && bodyMissing ? adviceIn(service, name, value) : std::nullopt;
    bool stray = property != nullptr || bodyMissing;
    if (value.IsObject()) {
      // An empty object can be both.
      const bool isService = accepts(serviceNode(), value) && !(bodyMissing && value.ObjectEmpty());
      const bool isField =
          property == nullptr ? advice.has_value() : bodyMissing || accepts(*property->node, value);
      stray = !isService && isField;
    }
    if (!stray) {
      service.clear();
      continue;
    }
    StrayField found{std::string{name}, service, {}, {}};
    const std::string below = bodyMissing ? service : "the name of its service";
    found.advice = fmt::format("indent it below {}", below);
    if (property != nullptr) {
      found.advice = fmt::format("{} is a field of a service, so {}", name, found.advice);
      if (bodyMissing) found.place = Path{"spec.services"}.key(service) / name;
    } else if (advice) {
      found.advice += fmt::format(", where {} is an {}", name, advice->text);
      found.place = advice->place;
    }
    strays.push_back(std::move(found));
  }
  return strays;
}

}  // namespace dynamo::admission
