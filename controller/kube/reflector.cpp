#include "controller/kube/reflector.h"

#include <algorithm>
#include <chrono>

#include "common/observability/log.h"

namespace dynamo::kube {
namespace {

constexpr log::Logger kLog{"watch"};
/// After so much work on events that were already received, other tasks run, such as the renewal of a Lease.
constexpr std::chrono::milliseconds kTurn{10};

using runtime::Deadline;
using runtime::Task;

/// Adds apiVersion and kind, which the items in a list of a built-in resource lack.
void ensureType(json::Value& object, const Resource& resource, json::Allocator& allocator) {
  if (json::find(object, "kind") == nullptr)
    json::set(object, "kind", json::string(resource.kind, allocator), allocator);
  if (json::find(object, "apiVersion") == nullptr)
    json::set(object, "apiVersion", json::string(apiVersionOf(resource), allocator), allocator);
}

Task<Result<Lines>> openWatch(Client& client, Resource resource, std::string namespaceName,
                              WatchOptions options, CallOptions call) {
  auto opened = co_await client.watch(resource, namespaceName, options, call);
  if (auto* error = std::get_if<ApiError>(&opened)) co_return std::move(*error);
  std::shared_ptr<WatchStream> stream = std::move(std::get<std::unique_ptr<WatchStream>>(opened));
  Lines lines;
  lines.next = [stream](Deadline deadline) { return stream->next(deadline); };
  lines.cancel = [stream] { stream->cancel(); };
  co_return lines;
}

}  // namespace

ListWatch listWatchOf(Client& client, const Resource& resource, const std::string& namespaceName,
                      CallOptions call) {
  ListWatch source;
  source.list = [&client, resource, namespaceName, call](const ListOptions& options) {
    return client.list(resource, namespaceName, options, call);
  };
  source.watch = [&client, resource, namespaceName, call](WatchOptions options) {
    return openWatch(client, resource, namespaceName, std::move(options), call);
  };
  source.restores = client.restores();
  return source;
}

Reflector::Reflector(runtime::EventLoop& loop, Resource resource, WatchedSet set, ListWatch source, Sink sink,
                     Random random)
    : loop_(loop),
      resource_(std::move(resource)),
      source_(std::move(source)),
      sink_(std::move(sink)),
      watcher_(std::move(set), std::move(random)),
      knownRestores_(source_.restores->count()) {}

Task<void> Reflector::run() {
  const Restores::Watching watching{source_.restores};
  while (!stopped_ && !loop_.stopping()) {
    if (behind()) {
      knownRestores_ = source_.restores->count();
      watcher_.serverRestored();
    }
    Watcher::Action action = watcher_.next();
    if (auto* sleep = std::get_if<Watcher::Sleep>(&action)) {
      const Deadline until = std::chrono::steady_clock::now() + sleep->time;
      co_await loop_.sleepUntil(until);
    } else if (auto* page = std::get_if<Watcher::List>(&action)) {
      co_await list(std::move(*page));
    } else if (auto* version = std::get_if<Watcher::Probe>(&action)) {
      co_await probe(std::move(*version));
    } else {
      co_await watch(std::move(std::get<Watcher::Watch>(action)));
    }
  }
}

void Reflector::noticeRestore() {
  watcher_.serverRestored();
  ++knownRestores_;
  source_.restores->noticed();
}

Task<void> Reflector::list(Watcher::List action) {
  auto answer = co_await source_.list(std::move(action.options));
  // A page that was requested before a restore may be of the time before.
  if (stopped_ || behind()) co_return;
  if (auto* error = std::get_if<ApiError>(&answer)) {
    fail("list", *error);
    watcher_.listFailed(*error);
    co_return;
  }
  auto decoded = decodeList(std::move(std::get<json::Document>(answer)));
  if (auto* error = std::get_if<ApiError>(&decoded)) {
    fail("list", *error);
    watcher_.listFailed(*error);
    co_return;
  }
  problem_.clear();
  ListPage& page = std::get<ListPage>(decoded);
  if (action.first && watcher_.wentBack(page)) {
    if (!watcher_.restored()) noticeRestore();
    kLog.warn("the API server has gone back to older versions", {{"resource", resource_.plural}});
    if (sink_.wentBack) sink_.wentBack();
  }
  if (action.first) sink_.listBegins();
  if (json::Value* items = json::find(page.list, "items"); items != nullptr && items->IsArray()) {
    for (json::Value& item : items->GetArray()) {
      ensureType(item, resource_, page.list.GetAllocator());
      sink_.present(item);
    }
  }
  const bool restored = watcher_.restored();
  if (!watcher_.listed(page)) co_return;
  sink_.listEnds(watcher_.resourceVersion());
  if (restored) source_.restores->relisted();
}

Task<void> Reflector::probe(Watcher::Probe action) {
  auto answer = co_await source_.list(std::move(action.options));
  if (stopped_ || behind()) co_return;
  auto* error = std::get_if<ApiError>(&answer);
  Result<ListPage> decoded =
      error != nullptr ? std::move(*error) : decodeList(std::move(std::get<json::Document>(answer)));
  error = std::get_if<ApiError>(&decoded);
  if (error != nullptr) {
    fail("list", *error);
    watcher_.probeFailed(*error);
  } else {
    const ListPage& page = std::get<ListPage>(decoded);
    if (watcher_.wentBack(page)) noticeRestore();
    watcher_.probed(page);
  }
}

Task<void> Reflector::watch(Watcher::Watch action) {
  auto opened = co_await source_.watch(std::move(action.options));
  if (auto* error = std::get_if<ApiError>(&opened)) {
    fail("watch", *error);
    watcher_.watchFailed(*error);
    co_return;
  }
  problem_.clear();
  watcher_.watchOpened();
  const auto opening = std::chrono::steady_clock::now();
  const Deadline dead = opening + action.lifetime;
  const auto lasted = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - opening);
  };
  const Lines lines = std::move(std::get<Lines>(opened));
  const Restores::Running running{source_.restores, lines.cancel};
  std::chrono::steady_clock::duration busy{};
  while (!stopped_ && !behind()) {
    const Deadline silent = std::chrono::steady_clock::now() + kMaxSilence;
    auto line = co_await lines.next(std::min(dead, silent));
    if (stopped_ || behind()) co_return;
    if (auto* error = std::get_if<ApiError>(&line)) {
      if (error->reason == Reason::Timeout && silent < dead) {
        watcher_.watchLasted(lasted());
        watcher_.watchEnded();
        co_return;
      }
      fail("watch", *error);
      watcher_.watchLasted(lasted());
      watcher_.watchFailed(*error);
      co_return;
    }
    const auto& text = std::get<std::optional<std::string>>(line);
    if (!text) {
      watcher_.watchLasted(lasted());
      watcher_.watchEnded();
      co_return;
    }
    const auto began = std::chrono::steady_clock::now();
    if (!handle(*text)) co_return;
    const auto ended = std::chrono::steady_clock::now();
    busy += ended - began;
    if (busy < kTurn) continue;
    busy = {};
    co_await loop_.sleepUntil(ended);
  }
}

bool Reflector::handle(std::string_view line) {
  auto decoded = decodeEvent(line);
  if (auto* error = std::get_if<ApiError>(&decoded)) {
    fail("watch", *error);
    // An event that cannot be decoded must not hide the events after it. A new watch would begin with it
    // again.
    if (error->status == 0) return true;
    watcher_.watchFailed(*error);
    return false;
  }
  const WatchEvent& event = std::get<WatchEvent>(decoded);
  if (!watcher_.received(event)) return true;
  if (event.type == EventType::Deleted) {
    sink_.deleted(event.object());
  } else {
    sink_.present(event.object());
  }
  return true;
}

void Reflector::fail(std::string_view what, const ApiError& error) {
  problem_ = error.message;
  // An expired resourceVersion is part of the protocol, and a stopping loop cancels all requests: neither is
  // logged.
  if (error.reason == Reason::Gone || loop_.stopping()) return;
  kLog.warn("request failed", {{"verb", what},
                               {"resource", resource_.plural},
                               {"reason", nameOf(error.reason)},
                               {"error", error.message}});
}

}  // namespace dynamo::kube
