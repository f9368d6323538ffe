#include "controller/kube/event_correlator.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/json/build.h"

namespace dynamo::kube {
namespace {

/// The maximum length of a message that the API server accepts.
constexpr std::size_t kMaxMessage = 1024;
/// The namespace of Events about cluster-scoped objects.
constexpr std::string_view kDefaultNamespace = "default";

/// Returns the text with at most kMaxMessage bytes. UTF-8 characters are not split.
std::string shortened(std::string_view text) {
  if (text.size() <= kMaxMessage) return std::string{text};
  constexpr std::string_view kDots = "...";
  std::size_t end = kMaxMessage - kDots.size();
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return std::string{text.substr(0, end)}.append(kDots);
}

std::string keyOf(const ObjectReference& object) {
  return fmt::format("{}\n{}\n{}\n{}\n{}", object.apiVersion, object.kind, object.namespaceName, object.name,
                     object.uid);
}

}  // namespace

ObjectReference referenceTo(const json::Value& object) {
  const json::Value* metadata = json::find(object, "metadata");
  ObjectReference reference;
  reference.apiVersion = json::findText(&object, "apiVersion");
  reference.kind = json::findText(&object, "kind");
  reference.namespaceName = json::findText(metadata, "namespace");
  reference.name = json::findText(metadata, "name");
  reference.uid = json::findText(metadata, "uid");
  reference.resourceVersion = json::findText(metadata, "resourceVersion");
  return reference;
}

template <typename T>
T& EventCorrelator::Recent<T>::operator[](const std::string& key) {
  const auto known = index_.find(key);
  if (known != index_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return known->second->second;
  }
  if (entries_.size() >= kMaxCorrelated) {
    index_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(key, T{});
  index_.emplace(key, entries_.begin());
  return entries_.front().second;
}

template <typename T>
void EventCorrelator::Recent<T>::erase(const std::string& key) {
  const auto known = index_.find(key);
  if (known == index_.end()) return;
  entries_.erase(known->second);
  index_.erase(known);
}

bool EventCorrelator::allowed(const std::string& key, k8s::Timestamp now) {
  Tokens& tokens = tokens_[key];
  if (tokens.since != k8s::Timestamp{}) {
    // The clock may have been set back.
    const std::chrono::duration<double> passed =
        std::max(now - tokens.since, k8s::Timestamp::duration::zero());
    tokens.left = std::min(kEventBurst, tokens.left + passed / std::chrono::duration<double>(kEventPeriod));
  }
  tokens.since = now;
  if (tokens.left < 1) return false;
  tokens.left -= 1;
  return true;
}

EventCorrelator::Decision EventCorrelator::decide(const EventInput& event, k8s::Timestamp now) {
  const std::string object = fmt::format("{}\n{}", event.component, keyOf(event.object));
  const std::string similarKey = fmt::format("{}\n{}\n{}", object, event.warning, event.reason);
  Decision decision;
  decision.message = shortened(event.message);

  Similar& similar = similar_[similarKey];
  if (now - similar.last > kSimilarTime) similar.messages.clear();
  similar.last = now;
  similar.messages.insert(decision.message);
  decision.key = similarKey + '\n' + decision.message;
  if (similar.messages.size() >= kMaxSimilar) {
    // Further similar Events are counted as one Event, regardless of their messages.
    similar.messages.erase(similar.messages.begin());
    decision.key = similarKey;
    decision.message = shortened("(combined from similar events): " + event.message);
  }

  if (!allowed(object, now)) return decision;
  Written& written = written_[decision.key];
  if (written.count == 0) {
    const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch());
    written.name = fmt::format("{}.{:x}", event.object.name, nanoseconds.count());
    written.first = now;
  }
  decision.kind = written.count == 0 ? Decision::Kind::Create : Decision::Kind::Count;
  decision.count = ++written.count;
  decision.name = written.name;
  decision.first = written.first;
  return decision;
}

void EventCorrelator::failed(const Decision& decision) {
  written_.erase(decision.key);
}

std::string eventBody(const EventInput& event, const EventCorrelator::Decision& decision,
                      k8s::Timestamp now) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  const ObjectReference& object = event.object;
  const std::string_view namespaceName =
      object.namespaceName.empty() ? kDefaultNamespace : object.namespaceName;
  const std::string first = k8s::formatTime(decision.first);
  const std::string last = k8s::formatTime(now);
  return json::dump(make.object(
      "apiVersion", "v1", "kind", "Event", "metadata",
      make.object("name", decision.name, "namespace", namespaceName), "involvedObject",
      make.object("apiVersion", object.apiVersion, "kind", object.kind, "namespace", object.namespaceName,
                  "name", object.name, "uid", object.uid, "resourceVersion", object.resourceVersion),
      "reason", event.reason, "message", decision.message, "type", event.warning ? "Warning" : "Normal",
      "count", decision.count, "firstTimestamp", first, "lastTimestamp", last, "source",
      make.object("component", event.component), "reportingComponent", event.component, "reportingInstance",
      ""));
}

std::string eventPatch(const EventCorrelator::Decision& decision, k8s::Timestamp now) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  return json::dump(make.object("count", decision.count, "message", decision.message, "lastTimestamp",
                                k8s::formatTime(now)));
}

}  // namespace dynamo::kube
