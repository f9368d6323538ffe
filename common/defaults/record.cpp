#include "common/defaults/record.h"

#include "common/api/dynamo.h"
#include "common/json/parse.h"

namespace dynamo::defaults {

using json::Value;

Record::Record(const Value* object, const Record* same)
    : text_(annotationOf(object, api::annotation::kDefaulted)) {
  if (same != nullptr && same->text_ == text_) return;
  if (text_.empty() || json::parse(text_, document_) || !document_.IsObject()) return;
  const Value* version = json::find(document_, "v");
  if (version == nullptr || !version->IsInt() || version->GetInt() < 1) return;
  known_ = version->GetInt() == kRecordVersion;
  newer_ = version->GetInt() > kRecordVersion;
}

const Value* Record::component() const {
  return known_ ? json::findObject(&document_, "spec") : nullptr;
}

const Value* Record::service(std::string_view name) const {
  return json::findObject(json::findObject(component(), "services"), name);
}

std::string_view Record::stamp() const {
  if (!known_) return {};
  const Value* annotations = json::findObject(json::findObject(&document_, "metadata"), "annotations");
  return json::findText(annotations, api::annotation::kOriginVersion);
}

std::string_view annotationOf(const Value* object, std::string_view key) {
  const Value* metadata = json::findObject(object, "metadata");
  return json::findText(json::findObject(metadata, "annotations"), key);
}

}  // namespace dynamo::defaults
