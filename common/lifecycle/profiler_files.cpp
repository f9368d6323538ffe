#include "common/lifecycle/profiler_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/api/dgdr.h"
#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/json/utf8.h"
#include "common/text/yaml.h"

namespace dynamo::lifecycle {
namespace {

namespace dgdr = api::dgdr;

using json::Value;

bool isText(const std::optional<std::string>& file) {
  return file && json::isUtf8(*file);
}

/// The last error in the profiler's log, without the time and the name of the logger. A very long one is no
/// message.
std::string_view lastError(std::string_view log) {
  constexpr std::string_view kError = " - ERROR - ";
  constexpr std::size_t kMaxMessageBytes = 4000;
  const std::size_t last = log.rfind(kError);
  if (last == std::string_view::npos) return {};
  log = log.substr(log.rfind('\n', last) + 1);
  log = log.substr(0, log.find('\n'));
  log.remove_prefix(log.find(kError) + kError.size());
  log.remove_prefix(std::min(log.find_first_not_of(" >-"), log.size()));
  return log.size() > kMaxMessageBytes || !json::isUtf8(log) ? std::string_view{} : log;
}

std::string problemOfStatus(const std::string& text, std::string_view log) {
  const text::TextDocuments read = text::parseDocuments(text);
  if (read.error) return fmt::format("{}: {}", dgdr::kProfilerStatusKey, read.error->message());
  const Value* status = read.documents.empty() ? nullptr : &read.documents.front().value;
  const std::string_view word = json::findText(status, "status");
  if (word == "success") return {};
  if (word == "running") {
    const std::string_view error = lastError(log);
    return fmt::format("the profiler has ended before it was done{}{}", error.empty() ? "" : ": ", error);
  }
  if (word.empty()) return fmt::format("{} has no status", dgdr::kProfilerStatusKey);
  if (word != "failed") return fmt::format("{} has the unknown status {}", dgdr::kProfilerStatusKey, word);
  std::string_view why = json::findText(status, "error");
  if (why.empty()) why = json::findText(status, "message");
  return fmt::format("profiling has failed: {}", why.empty() ? "the profiler says no more" : why);
}

}  // namespace

std::string profilerProblem(const ProfilerFiles& files) {
  if (!files.status) return fmt::format("the profiler has written no {}", dgdr::kProfilerStatusKey);
  if (std::string problem = problemOfStatus(*files.status, files.log.value_or("")); !problem.empty())
    return problem;
  if (!files.result) return fmt::format("the profiler has written no {}", dgdr::kResultKey);
  if (!isText(files.result)) return fmt::format("{} is no text", dgdr::kResultKey);
  if (files.result->size() + files.status->size() <= kMaxConfigMapBytes) return {};
  return fmt::format("{} has {} bytes; a ConfigMap holds at most {}", dgdr::kResultKey, files.result->size(),
                     kMaxConfigMapBytes);
}

Value outputConfigMap(std::string_view request, std::string_view namespaceName, const ProfilerFiles& files,
                      json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value data = make.object();
  std::size_t size = 0;
  const auto add = [&](std::string_view key, const std::optional<std::string>& file) {
    if (!isText(file) || size + file->size() > kMaxConfigMapBytes) return;
    size += file->size();
    make.set(data, key, std::string_view{*file});
  };
  const std::string problem = profilerProblem(files);
  if (problem.empty()) {
    add(dgdr::kResultKey, files.result);
  } else {
    make.set(data, dgdr::kCopierErrorKey, std::string_view{problem});
  }
  add(dgdr::kProfilerStatusKey, files.status);
  if (problem.empty()) add(dgdr::kWebUiKey, files.webUi);
  Value labels = make.object(dgdr::kTrackingLabels[0], request, api::label::kManagedBy, api::kOperatorName);
  return make.object("apiVersion", "v1", "kind", "ConfigMap", "metadata",
                     make.object("name", fmt::format("{}{}", dgdr::kOutputConfigMapPrefix, request),
                                 "namespace", namespaceName, "labels", std::move(labels)),
                     "data", std::move(data));
}

}  // namespace dynamo::lifecycle
