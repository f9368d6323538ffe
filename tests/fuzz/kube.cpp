// What an API server, or whoever stands in its place, may send: bodies of errors, lines of watches, pages of
// lists, discovery documents. Any bytes give a value or an error that is safe to log, and the cache of a
// watch stays consistent.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/json/parse.h"
#include "controller/kube/api_error.h"
#include "controller/kube/base64.h"
#include "controller/kube/cache.h"
#include "controller/kube/decode.h"
#include "controller/kube/discovery.h"
#include "controller/kube/line_buffer.h"
#include "controller/kube/rest_config.h"
#include "controller/plugin/credentials/exec_credential.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

void checkError(const kube::ApiError& error, std::string_view text) {
  require(!error.message.empty(), "an error says something", text);
  require(error.message.size() <= kube::kMaxErrorMessage, "an error is bounded", text);
  require(fuzz::isOneLine(error.message), "an error is one line", error.message);
  require(error.causes.size() <= kube::kMaxCauses, "causes are bounded", text);
  for (const kube::Cause& cause : error.causes) {
    require(fuzz::isOneLine(cause.reason) && fuzz::isOneLine(cause.message) && fuzz::isOneLine(cause.field),
            "a cause is one line", text);
  }
  require(!kube::nameOf(error.reason).empty(), "a reason has a name", text);
  if (error.retryAfter) {
    require(error.retryAfter->count() >= 0 && *error.retryAfter <= kube::kMaxRetryAfter, "a wait is bounded",
            text);
  }
}

void checkStatus(std::string_view text) {
  runtime::ReplyHead head;
  head.status = text.empty() ? 500 : 300 + static_cast<unsigned char>(text.front());
  head.headers.push_back({"Retry-After", std::string{text.substr(0, text.find('\n'))}});
  const kube::ApiError quoted = kube::errorOf(head, text);
  const kube::ApiError withheld = kube::errorOf(head, text, kube::MessagePolicy::Withhold);
  checkError(quoted, text);
  checkError(withheld, text);
  require(quoted.reason == withheld.reason, "withheld words change no reason", text);
  for (const kube::Cause& cause : withheld.causes) {
    require(cause.message.empty(), "words of causes are withheld", text);
  }
}

void checkObject(std::string_view text) {
  auto decoded = kube::decodeObject(text);
  if (const auto* error = std::get_if<kube::ApiError>(&decoded)) {
    checkError(*error, text);
    require(error->reason == kube::Reason::Transport, "what is no object is of the transport", text);
    return;
  }
  const auto& object = std::get<json::Document>(decoded);
  require(object.IsObject(), "an object is one", text);
  for (const kube::ApiGroup& group : kube::decodeGroups(object).groups) {
    require(!group.name.empty(), "a group has a name", text);
  }
  for (const kube::Resource& resource : kube::decodeResources(object, "g", "v1").resources) {
    const std::string path = kube::pathOf(resource, "n", text.substr(0, 20));
    require(path.find_first_of(" ?#\r\n") == std::string::npos, "a path is one path", path);
  }
  auto list = kube::decodeList(std::get<json::Document>(std::move(decoded)));
  if (const auto* error = std::get_if<kube::ApiError>(&list)) return checkError(*error, text);
  const auto& page = std::get<kube::ListPage>(list);
  for (const json::Value& item : page.items()) require(item.IsObject(), "an item is an object", text);
  require(page.continueToken().size() <= text.size() && page.resourceVersion().size() <= text.size(),
          "tokens are of the text", text);
}

std::vector<std::string> linesOf(std::string_view text, std::size_t piece) {
  kube::LineBuffer lines{1000};
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size(); at += piece) {
    lines.put(text.substr(at, piece));
    while (auto line = lines.take()) out.push_back(std::move(*line));
  }
  return out;
}

void checkList(std::string_view text) {
  auto decoded = kube::decodeListReply(text);
  if (const auto* error = std::get_if<kube::ApiError>(&decoded)) return checkError(*error, text);
  auto& reply = std::get<kube::ListReply>(decoded);
  const bool whole = std::holds_alternative<json::Document>(kube::decodeObject(text));
  require(!whole || reply.omitted == 0, "only items that cannot be decoded are omitted", text);
  const json::Value* items = json::find(reply.list, "items");
  require(reply.omitted == 0 || (items != nullptr && items->IsArray()), "a list that was cut has items",
          text);
}

/// Events in any order never make an object of the cache older.
void checkCache(std::string_view text) {
  kube::Cache cache{{{"v1", "Pod", {{"metadata.labels"}}, {"l"}}}};
  const kube::Sink sink = cache.sinkFor(kube::Resource{"", "v1", "pods", "Pod"}, "", {});
  const auto read = [&](const k8s::ObjectKey& key) -> std::pair<std::string, std::string> {
    const auto found = cache.find(key);
    if (!found) return {};
    const json::Value* metadata = json::find(found->object, "metadata");
    return {std::string{json::findText(metadata, "uid")},
            std::string{json::findText(metadata, "resourceVersion")}};
  };
  for (const std::string& line : linesOf(text, text.size() + 1)) {
    const auto decoded = kube::decodeEvent(line);
    const auto* event = std::get_if<kube::WatchEvent>(&decoded);
    if (event == nullptr) continue;
    const k8s::ObjectKey key = k8s::keyOf(event->object());
    const auto before = read(key);
    if (event->type == kube::EventType::Deleted) {
      sink.deleted(event->object());
    } else {
      sink.present(event->object());
    }
    const auto after = read(key);
    if (!before.first.empty() && before.first == after.first)
      require(!kube::isOlder(after.second, before.second), "an object does not become older", text);
  }
  sink.listBegins();
  sink.listEnds("");
  require(cache.size() == 0, "an empty list empties the cache", text);
}

void checkWatch(std::string_view text) {
  const std::vector<std::string> lines = linesOf(text, text.size() + 1);
  require(lines == linesOf(text, 1), "lines are the same wherever they are cut", text);
  for (const std::string& line : lines) {
    require(line.size() <= 1000 && !line.empty(), "a line is bounded", line);
    const auto decoded = kube::decodeEvent(line);
    if (const auto* error = std::get_if<kube::ApiError>(&decoded)) {
      checkError(*error, line);
      continue;
    }
    const auto& event = std::get<kube::WatchEvent>(decoded);
    require(event.object().IsObject(), "an event has an object", line);
    require(event.resourceVersion().size() <= line.size(), "a version is of the line", line);
  }
}

void checkCredential(std::string_view text) {
  constexpr const char* kVersion = "client.authentication.k8s.io/v1";
  const auto read = plugin::readExecCredential(text, kVersion);
  if (const auto* error = std::get_if<std::string>(&read)) {
    require(fuzz::isOneLine(*error) && !error->empty(), "an error is one line", *error);
  } else {
    const auto& given = std::get<kube::ExecCredential>(read);
    require(!given.token.empty() || !given.certificate.empty(), "a credential is there", text);
  }
  if (const auto bytes = kube::decodeBase64(text)) {
    require(kube::decodeBase64(kube::encodeBase64(*bytes)) == bytes, "base64 is written as it is read", text);
  }
  const auto url = kube::parseServerUrl(text);
  if (const auto* error = std::get_if<std::string>(&url)) {
    require(fuzz::isOneLine(*error), "an error is one line", *error);
  }
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  dynamo::checkStatus(text);
  dynamo::checkObject(text);
  dynamo::checkList(text);
  dynamo::checkCache(text);
  dynamo::checkWatch(text);
  dynamo::checkCredential(text);
  return 0;
}
