#include "common/conversion/annotation_budget.h"

#include <algorithm>

#include "common/api/dgdr.h"
#include "common/k8s/names.h"

namespace dynamo::conversion {
namespace {

namespace keys = api::dgdr;

std::size_t sizeOfUserAnnotations(const json::Value* present) {
  std::size_t size = 0;
  if (present == nullptr) return size;
  for (const auto& member : present->GetObject()) {
    const std::string_view key = json::text(member.name);
    if (!keys::isPrivateAnnotation(key)) size += key.size() + json::text(member.value).size();
  }
  return size;
}

void addRemainder(std::vector<Annotation>& annotations, std::string_view key, std::string_view prefix,
                  const std::vector<Field>& fields) {
  std::vector<const Field*> part;
  for (const Field& field : fields) {
    if (field.pointer.starts_with(prefix)) part.push_back(&field);
  }
  if (!part.empty()) annotations.push_back({key, encode(std::move(part))});
}

std::vector<Annotation> assemble(const std::vector<std::pair<std::string_view, std::string>>& carried,
                                 const std::vector<Field>& fields, std::string_view specKey,
                                 std::string_view statusKey) {
  std::vector<Annotation> annotations;
  annotations.reserve(carried.size() + 2);
  for (const auto& [key, value] : carried) annotations.push_back({key, value});
  addRemainder(annotations, specKey, "/spec", fields);
  addRemainder(annotations, statusKey, "/status", fields);
  return annotations;
}

std::size_t sizeOf(const std::vector<Annotation>& annotations) {
  std::size_t size = 0;
  for (const Annotation& annotation : annotations) size += annotation.key.size() + annotation.value.size();
  return size;
}

void dropFields(std::vector<Field>& fields, std::string_view prefix) {
  std::erase_if(fields, [&](const Field& field) { return field.pointer.starts_with(prefix); });
}

/// Drops fields, the largest first, until the annotations are `excess` bytes shorter. Drops them in one pass,
/// because an object may hold tens of thousands.
void dropLargest(std::vector<Field>& fields, std::size_t excess, std::string_view specKey,
                 std::string_view statusKey) {
  const std::size_t frame = encode({}).size();
  std::size_t specFields = 0;
  std::vector<std::pair<std::size_t, std::size_t>> sizes;  // size and index of each field
  for (std::size_t i = 0; i < fields.size(); ++i) {
    sizes.emplace_back(encode({&fields[i]}).size() - frame, i);
    specFields += fields[i].pointer.starts_with("/spec") ? 1U : 0U;
  }
  std::stable_sort(sizes.begin(), sizes.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::size_t statusFields = fields.size() - specFields;
  std::vector<bool> dropped(fields.size());
  std::size_t freed = 0;
  for (const auto& [size, index] : sizes) {
    if (freed >= excess) break;
    const bool spec = fields[index].pointer.starts_with("/spec");
    std::size_t& left = spec ? specFields : statusFields;
    // Dropping the last field of an annotation drops the annotation, too; any other field has a comma.
    freed += size + (--left == 0 ? frame + (spec ? specKey : statusKey).size() : 1);
    dropped[index] = true;
  }
  std::vector<Field> kept;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!dropped[i]) kept.push_back(std::move(fields[i]));
  }
  fields = std::move(kept);
}

}  // namespace

std::vector<Annotation> fitAnnotations(const json::Value* present, std::size_t unseen,
                                       std::vector<std::pair<std::string_view, std::string>> carried,
                                       std::vector<Field> fields, std::string_view specKey,
                                       std::string_view statusKey) {
  const std::size_t used = sizeOfUserAnnotations(present) + unseen;
  const std::size_t budget = used < k8s::kMaxAnnotationBytes ? k8s::kMaxAnnotationBytes - used : 0;
  std::vector<Annotation> annotations = assemble(carried, fields, specKey, statusKey);
  // Results that can be computed again are dropped first, identifying data last.
  for (int step = 0; sizeOf(annotations) > budget; ++step) {
    if (step == 0) {
      dropFields(fields, "/status/profilingResults/pareto");
    } else if (step == 1) {
      std::erase_if(carried, [](const auto& entry) { return entry.first == keys::kProfilingConfig; });
    } else if (step == 2) {
      dropFields(fields, "/spec/overrides/dgd");
    } else if (!fields.empty()) {
      dropLargest(fields, sizeOf(annotations) - budget, specKey, statusKey);
    } else if (!carried.empty()) {
      carried.pop_back();
    } else {
      break;
    }
    annotations = assemble(carried, fields, specKey, statusKey);
  }
  return annotations;
}

}  // namespace dynamo::conversion
