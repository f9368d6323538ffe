#pragma once
// A small API server in memory: it stores objects, checks preconditions and tracks the fields of apply
// requests. It does not merge lists by keys.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "tests/unit/kube/kube_support.h"

namespace dynamo::controller::test {

class FakeApi {
 public:
  /// The reply to a request, instead of the usual one. `line` is "METHOD /path" without the query.
  using Script = std::function<std::optional<std::string>(const std::string& line, int number)>;
  /// Changes an object before it is stored, as a webhook or another controller does.
  using Change = std::function<void(json::Document&)>;

  /// Is awaited before a request is answered.
  using Delay = std::function<runtime::Task<void>(int number)>;

  explicit FakeApi(Script script = {}, Change change = {}, Delay delay = {});

  /// Stores `object` (JSON with single quotes) under its path, as somebody else's write.
  void store(const std::string& path, const std::string& object);
  void remove(const std::string& path);
  /// The object at `path`; empty if there is none.
  std::string at(const std::string& path) const;

  /// What a client sends its requests with. This object must outlive it.
  std::shared_ptr<kube::RoundTripper> roundTripper() const { return requests_; }
  /// "METHOD /path" of all requests, one per line. Requests of one stage are concurrent, so they are sorted.
  std::string sorted() const;
  /// The same in the order of arrival.
  std::string lines() const;
  const std::vector<std::string>& requests() const { return requests_->requests(); }
  /// The bodies of the requests with this line.
  std::vector<std::string> bodies(std::string_view line) const;

 private:
  std::string answer(const std::string& request, int number);
  std::string patch(const std::string& request, const std::string& path);
  std::string create(const std::string& request, const std::string& path);
  std::string erase(const std::string& request, const std::string& path);
  std::string save(const std::string& path, json::Document object);

  Script script_;
  Change change_;
  Delay delay_;
  std::map<std::string, std::string> objects_;
  int version_ = 100;
  std::shared_ptr<kube::test::FakeRoundTripper> requests_;
};

/// "METHOD /path" of a request, without the query.
std::string lineWithoutQuery(const std::string& request);

}  // namespace dynamo::controller::test
