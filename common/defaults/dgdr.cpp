#include "common/defaults/dgdr.h"

#include <algorithm>
#include <string>

#include "common/api/dgdr.h"

namespace dynamo::defaults {
namespace {

/// The profiler image of an operator version; empty if the version is "" or "unknown". The "+" of build
/// metadata becomes "_", because image tags may not contain "+".
std::string profilerImage(std::string_view operatorVersion) {
  if (operatorVersion.empty() || operatorVersion == "unknown") return {};
  std::string tag{operatorVersion};
  std::replace(tag.begin(), tag.end(), '+', '_');
  return std::string{api::dgdr::kDefaultImageRepository} + ':' + tag;
}

}  // namespace

bool defaultDgdr(json::Value& object, std::string_view operatorVersion, json::Allocator& allocator) {
  json::Value* spec = json::find(object, "spec");
  if (spec == nullptr || !spec->IsObject()) return false;
  const json::Value* image = json::find(*spec, "image");
  if (image != nullptr && (!image->IsString() || image->GetStringLength() > 0)) return false;
  const std::string wanted = profilerImage(operatorVersion);
  if (wanted.empty()) return false;
  json::set(*spec, "image", json::string(wanted, allocator), allocator);
  return true;
}

bool replaceNullImage(json::Value& object, const json::Value& old, json::Allocator& allocator) {
  json::Value* spec = json::findRaw(object, "spec");
  if (spec == nullptr || !spec->IsObject()) return false;
  const json::Value* image = json::findRaw(*spec, "image");
  if (image == nullptr || !image->IsNull()) return false;
  const std::string_view stored = json::findText(json::findObject(&old, "spec"), "image");
  if (stored.empty()) return json::remove(*spec, "image");
  json::set(*spec, "image", json::string(stored, allocator), allocator);
  return true;
}

}  // namespace dynamo::defaults
