#pragma once
// A cache with objects, and the environment of reconcilers.

#include <catch2/catch.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "controller/reconcile/environment.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/ssh_key.h"
#include "tests/unit/lifecycle/support.h"

namespace dynamo::controller::test {

using lifecycle::test::parsed;

/// The key of `object`, which is JSON with single quotes.
k8s::ObjectKey keyOf(const std::string& object);

/// "Kind/name", separated by spaces, in order.
std::string namesOf(const std::vector<k8s::ObjectKey>& keys);

/// "KIND: MESSAGE" with the kind of ending (wait, conflict, transient), only the message if it is permanent,
/// and
/// "" if it is done.
std::string textOf(const lifecycle::Ending& ending);

/// A cache that is filled as watches do it. An object that no selector of its kind matches is not stored.
struct CacheFixture {
  /// A watch reports `object` (JSON with single quotes) as added or changed.
  void see(const std::string& object);
  /// A watch reports the deletion of `object`.
  void seeDeleted(const std::string& object);

  kube::Cache cache{storedKinds()};
};

/// The environment of reconcilers of a test. The client belongs to the test.
struct EnvironmentFixture : CacheFixture {
  EnvironmentFixture(runtime::EventLoop& loop, kube::Client& client);

  config::OperatorConfig config;
  model::ComponentDefaults defaults;
  render::Facts facts;
  kube::EventRecorder events;
  SshKeys sshKeys;
  Environment environment;
};

/// A configuration for a client that must not send anything: nothing listens on its port.
kube::RestConfig unreachable();

}  // namespace dynamo::controller::test
