// The text of a remainder: {"v":1,"fields":[{"path":...,"value":...,"while":...,"at":...,"inside":true}]}.

#include <algorithm>
#include <utility>

#include "common/conversion/pointer.h"
#include "common/conversion/remainder.h"
#include "common/json/parse.h"
#include "common/json/text_writer.h"

namespace dynamo::conversion {
namespace {

using json::Allocator;
using json::Value;

constexpr int kFormat = 1;

/// Whether conversion can have written the field. Conversion removes a whole spec or status only with a
/// guard, and never removes the list of containers.
bool isWellFormed(const Field& field, std::string_view prefix) {
  if (field.pointer == prefix) return field.guarded && !field.value;
  if (field.pointer[prefix.size()] != '/') return false;
  return field.pointer != kContainersPointer || field.value;
}

}  // namespace

std::string encode(std::vector<const Field*> fields) {
  const auto less = [](const Field* a, const Field* b) { return pointerLess(a->pointer, b->pointer); };
  // The API server sorts names, so the fields are usually in order already.
  if (!std::is_sorted(fields.begin(), fields.end(), less)) {
    std::stable_sort(fields.begin(), fields.end(), less);
  }
  json::TextWriter writer;
  writer.StartObject();
  writer.key("v");
  writer.Int(kFormat);
  writer.key("fields");
  writer.StartArray();
  for (const Field* field : fields) {
    writer.StartObject();
    writer.key("path");
    writer.string(field->pointer);
    if (field->value) {
      writer.key("value");
      write(field->value, writer);
    }
    if (field->guarded) {
      writer.key("while");
      if (field->seen) {
        write(field->seen, writer);
      } else {
        writer.Null();
      }
    }
    if (!field->guardPointer.empty()) {
      writer.key("at");
      writer.string(field->guardPointer);
    }
    if (field->inside) {
      writer.key("inside");
      writer.Bool(true);
    }
    writer.EndObject();
  }
  writer.EndArray();
  writer.EndObject();
  return writer.take();
}

std::vector<Field> decode(std::string_view text, std::string_view prefix, Allocator& allocator) {
  std::vector<Field> fields;
  json::Document document{&allocator};  // the values stay in the allocator
  if (text.empty() || json::parse(text, document)) return fields;
  const Value* version = json::find(document, "v");
  const Value* list = json::find(&document, "fields");
  if (version == nullptr || !version->IsInt() || version->GetInt() != kFormat || list == nullptr ||
      !list->IsArray()) {
    return fields;
  }
  for (const Value& item : list->GetArray()) {
    const std::string_view pointer = json::findText(&item, "path");
    if (!pointer.starts_with(prefix)) continue;
    Field field;
    field.pointer = pointer;
    field.guardPointer = json::findText(&item, "at");
    field.inside = json::findBool(&item, "inside").value_or(false);
    field.value = json::findRaw(item, "value");
    const Value* seen = json::findRaw(item, "while");
    field.guarded = seen != nullptr;
    if (field.guarded && !seen->IsNull()) field.seen = seen;
    if (!field.guardPointer.empty() && field.guardPointer.front() != '/') continue;
    if (!isWellFormed(field, prefix)) continue;
    fields.push_back(std::move(field));
  }
  return fields;
}

}  // namespace dynamo::conversion
