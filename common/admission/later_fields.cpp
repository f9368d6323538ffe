// Objects of later releases, and services that are no map.

#include <set>

#include "common/admission/field_advice.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"

namespace dynamo::admission {

using field::FieldError;
using field::Path;
using json::Value;

std::vector<FieldError> laterFields(std::string_view kind, const Value& object) {
  const auto unknownIn = [](std::string_view of, const Value& in) {
    const schema::Node* node = schema::find(api::kV1alpha1, of);
    std::vector<FieldError> errors = schema::validate(*node, in);
    std::erase_if(errors, [](const FieldError& error) { return error.rule != "schema.unknown-field"; });
    explainUnknownFields(of, "v1alpha1", in, errors);
    return errors;
  };
  std::vector<FieldError> all = unknownIn(kind, object);
  const Value* components = json::find(json::findObject(&object, "spec"), "components");
  if (components == nullptr || !components->IsArray()) return all;
  std::set<std::string> told;
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  for (rapidjson::SizeType i = 0; i < components->Size(); ++i) {
    const Path item = Path{"spec.components"}[i];
    for (FieldError& error :
         unknownIn(api::kDynamoComponentDeployment, make.object("spec", (*components)[i]))) {
      if (!told.insert(error.field.text()).second) continue;
      if (error.field == Path{"spec.name"})
        error.detail =
            "unknown field: a field of later releases, use the key of the service in spec.services";
      error.field.rebase(Path{"spec"}, item);
      all.push_back(std::move(error));
    }
  }
  return all;
}

void explainServices(std::vector<FieldError>& errors) {
  static const Path kServices{"spec.services"};
  for (FieldError& error : errors) {
    if (error.rule == "schema.type" && error.field == kServices)
      error.detail += "; it is a map of services by name";
  }
}

}  // namespace dynamo::admission
