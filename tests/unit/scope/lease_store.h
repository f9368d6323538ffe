#pragma once
// One Lease of an API server in memory, for tests.

#include <catch2/catch.hpp>
#include <string>

#include "common/json/build.h"
#include "common/json/parse.h"
#include "controller/scope/marker_holder.h"

namespace dynamo::controller::test {

struct LeaseStore {
  std::string body;  ///< empty: there is none
  int version = 0;
  int uid = 0;
  bool down = false;
  int writes = 0;
  std::string nextHolder;  ///< another process that writes before our next write

  kube::ApiError unavailable() const { return {kube::Reason::Unavailable, 503, "down"}; }
  kube::ApiError missing() const { return {kube::Reason::NotFound, 404, "not found"}; }
  kube::ApiError conflict() const { return {kube::Reason::Conflict, 409, "modified"}; }

  json::Document document() const {
    json::Document lease;
    REQUIRE_FALSE(json::parse(body, lease));
    const json::Maker make{lease.GetAllocator()};
    json::Value& metadata = *json::find(lease, "metadata");
    make.set(metadata, "resourceVersion", std::to_string(version));
    make.set(metadata, "uid", std::to_string(uid));
    return lease;
  }
  MarkerLease record() const { return readMarkerLease(document()); }
  std::string holder() const { return body.empty() ? "none" : record().holder; }

  void store(std::string text) {
    body = std::move(text);
    ++version;
    ++writes;
  }
  /// Another process renews the Lease.
  void writeAs(const std::string& holder) {
    json::Document lease;
    if (body.empty()) {
      ++uid;
      store(newMarkerLease("team-a", holder, std::chrono::seconds{30}, currentTime().wall));
      return;
    }
    lease = document();
    renewMarkerLease(lease, holder, std::chrono::seconds{30}, currentTime().wall);
    store(json::dump(lease));
  }
  void interfere() {
    if (!nextHolder.empty()) writeAs(std::exchange(nextHolder, {}));
  }

  static kube::Client::ObjectTask get(LeaseStore* self) {
    if (self->down) co_return self->unavailable();
    if (self->body.empty()) co_return self->missing();
    co_return self->document();
  }
  static kube::Client::ObjectTask create(LeaseStore* self, std::string text) {
    self->interfere();
    if (self->down) co_return self->unavailable();
    if (!self->body.empty()) co_return kube::ApiError{kube::Reason::AlreadyExists, 409, "exists"};
    ++self->uid;
    self->store(std::move(text));
    co_return self->document();
  }
  static kube::Client::ObjectTask replace(LeaseStore* self, std::string text) {
    self->interfere();
    if (self->down) co_return self->unavailable();
    if (self->body.empty()) co_return self->missing();
    json::Document lease;
    REQUIRE_FALSE(json::parse(text, lease));
    if (json::findText(json::find(lease, "metadata"), "resourceVersion") != std::to_string(self->version))
      co_return self->conflict();
    self->store(std::move(text));
    co_return self->document();
  }
  static kube::Client::ObjectTask remove(LeaseStore* self, kube::Preconditions preconditions) {
    self->interfere();
    if (self->down) co_return self->unavailable();
    if (self->body.empty()) co_return self->missing();
    if (preconditions.uid != std::to_string(self->uid) ||
        preconditions.resourceVersion != std::to_string(self->version))
      co_return self->conflict();
    json::Document last = self->document();
    self->body.clear();
    co_return last;
  }

  MarkerAccess access() {
    MarkerAccess out;
    out.get = [this](kube::CallOptions) { return get(this); };
    out.create = [this](std::string text, kube::CallOptions) { return create(this, std::move(text)); };
    out.replace = [this](std::string text, kube::CallOptions) { return replace(this, std::move(text)); };
    out.remove = [this](kube::Preconditions preconditions, kube::CallOptions) {
      return remove(this, std::move(preconditions));
    };
    return out;
  }
};

}  // namespace dynamo::controller::test
