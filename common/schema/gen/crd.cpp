#include "common/schema/gen/crd.h"

#include <string_view>
#include <utility>

namespace dynamo::schema::gen {
namespace {

using json::Allocator;
using json::Value;

// Placeholders. The installation replaces them, and the controller keeps them and the CA bundle up to date.
constexpr std::string_view kServiceName = "dynamo-operator-webhook-service";
constexpr std::string_view kServiceNamespace = "dynamo-system";
constexpr std::string_view kConvertPath = "/convert";
constexpr int kServicePort = 443;

/// Builds an object member by member, in the order of the calls.
class Builder {
 public:
  explicit Builder(Allocator& allocator) : allocator_{allocator} {}

  Builder&& with(std::string_view key, std::string_view text) && {
    return std::move(*this).with(key, json::string(text, allocator_));
  }
  Builder&& with(std::string_view key, Value&& value) && {
    json::set(object_, key, std::move(value), allocator_);
    return std::move(*this);
  }
  Builder&& with(std::string_view key, Builder&& inner) && {
    return std::move(*this).with(key, std::move(inner.object_));
  }
  Value done() && { return std::move(object_); }

 private:
  Allocator& allocator_;
  Value object_{rapidjson::kObjectType};
};

Value listOf(std::string_view item, Allocator& a) {
  Value list{rapidjson::kArrayType};
  list.PushBack(json::string(item, a), a);
  return list;
}

Value ruleList(const Value& rule, Allocator& a) {
  Value validation{rapidjson::kObjectType};
  for (const auto& [key, from] : {std::pair{"fieldPath", "at"}, {"message", "message"}, {"rule", "rule"}}) {
    if (const Value* text = json::find(rule, from)) json::set(validation, key, json::copy(*text, a), a);
  }
  Value list{rapidjson::kArrayType};
  list.PushBack(std::move(validation), a);
  return list;
}

Value toOpenApi(const Model& model, const Value& node, Allocator& a);

Value fieldsToOpenApi(const Model& model, const Value& fields, Allocator& a) {
  Value out{rapidjson::kObjectType};
  for (const auto& field : fields.GetObject()) {
    json::set(out, json::text(field.name), toOpenApi(model, field.value, a), a);
  }
  return out;
}

/// Converts an expanded node to OpenAPI: the description comes first, rules are written out, an empty
/// `required` is left out.
Value toOpenApi(const Model& model, const Value& node, Allocator& a) {
  Value out{rapidjson::kObjectType};
  if (const Value* text = json::find(node, "description"))
    json::set(out, "description", json::copy(*text, a), a);
  for (const auto& member : node.GetObject()) {
    const std::string_view key = json::text(member.name);
    if (key == "description" || key == "scale" || key == "keepsNulls" ||
        (key == "required" && member.value.Empty()))
      continue;
    if (key == "rule") {
      json::set(out, "x-kubernetes-validations",
                ruleList(*json::find(model.rules, json::text(member.value)), a), a);
    } else if (key == "properties") {
      json::set(out, key, fieldsToOpenApi(model, member.value, a), a);
    } else if (key == "items" || key == "additionalProperties") {
      Value inner = toOpenApi(model, member.value, a);
      // The API server drops nulls before it runs rules, except nulls of nullable values.
      if (json::findBool(&node, "keepsNulls")) json::set(inner, "nullable", Value{true}, a);
      json::set(out, key, std::move(inner), a);
    } else {
      json::set(out, key, json::copy(member.value, a), a);
    }
  }
  return out;
}

/// The schema of a whole object. The API server rejects a CRD that specifies the structure of metadata.
Value rootSchema(const Model& model, const Value& schema, Allocator& a) {
  Value root = toOpenApi(model, expand(model, schema, a), a);
  Value metadata = Builder{a}.with("type", "object").done();
  json::set(*json::find(root, "properties"), "metadata", std::move(metadata), a);
  return root;
}

Value columns(const Version& version, Allocator& a) {
  Value list{rapidjson::kArrayType};
  for (const Column& column : version.columns) {
    Value entry =
        Builder{a}.with("name", column.name).with("type", column.type).with("jsonPath", column.path).done();
    if (column.priority != 0) json::set(entry, "priority", Value{column.priority}, a);
    list.PushBack(std::move(entry), a);
  }
  return list;
}

Value subresources(const Version& version, Allocator& a) {
  Value out{rapidjson::kObjectType};
  if (version.scale) {
    json::set(out, "scale",
              Builder{a}
                  .with("specReplicasPath", version.specReplicas)
                  .with("statusReplicasPath", version.statusReplicas)
                  .with("labelSelectorPath", version.selector)
                  .done(),
              a);
  }
  if (json::find(*json::find(version.schema, "properties"), "status") != nullptr) {
    json::set(out, "status", Value{rapidjson::kObjectType}, a);
  }
  return out;
}

Value versionOf(const Model& model, const Version& version, Allocator& a) {
  Value out = Builder{a}
                  .with("name", version.name)
                  .with("served", Value{true})
                  .with("storage", Value{version.storage})
                  .done();
  if (!version.deprecated.empty()) {
    json::set(out, "deprecated", Value{true}, a);
    json::set(out, "deprecationWarning", json::string(version.deprecated, a), a);
  }
  json::set(out, "additionalPrinterColumns", columns(version, a), a);
  if (Value parts = subresources(version, a); !parts.ObjectEmpty()) {
    json::set(out, "subresources", std::move(parts), a);
  }
  json::set(out, "schema", Builder{a}.with("openAPIV3Schema", rootSchema(model, version.schema, a)).done(),
            a);
  return out;
}

Value conversion(Allocator& a) {
  Builder service = Builder{a}
                        .with("name", kServiceName)
                        .with("namespace", kServiceNamespace)
                        .with("path", kConvertPath)
                        .with("port", Value{kServicePort});
  return Builder{a}
      .with("strategy", "Webhook")
      .with("webhook", Builder{a}
                           .with("conversionReviewVersions", listOf("v1", a))
                           .with("clientConfig", Builder{a}.with("service", std::move(service))))
      .done();
}

}  // namespace

Value makeCrd(Model& model, const Kind& kind) {
  Allocator& a = model.allocator();
  Value spec = Builder{a}
                   .with("group", "nvidia.com")
                   .with("names", Builder{a}
                                      .with("kind", kind.kind)
                                      .with("listKind", kind.kind + "List")
                                      .with("plural", kind.plural)
                                      .with("singular", kind.plural.substr(0, kind.plural.size() - 1))
                                      .with("shortNames", listOf(kind.shortName, a)))
                   .with("scope", "Namespaced")
                   .done();
  if (kind.conversion) json::set(spec, "conversion", conversion(a), a);
  Value versions{rapidjson::kArrayType};
  for (const Version& version : kind.versions) versions.PushBack(versionOf(model, version, a), a);
  json::set(spec, "versions", std::move(versions), a);
  return Builder{a}
      .with("apiVersion", "apiextensions.k8s.io/v1")
      .with("kind", "CustomResourceDefinition")
      .with("metadata", Builder{a}
                            .with("name", kind.plural + ".nvidia.com")
                            .with("annotations", Builder{a}.with("helm.sh/resource-policy", "keep")))
      .with("spec", std::move(spec))
      .done();
}

}  // namespace dynamo::schema::gen
