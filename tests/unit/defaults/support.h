#pragma once
// Admission as tests call it.

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/defaults/apply.h"
#include "common/json/parse.h"

namespace dynamo::test {

/// A webhook with a configuration of its own.
class Admission {
 public:
  /// `overlay`: OperatorConfiguration's `defaults`, JSON; empty: none.
  explicit Admission(std::string_view overlay = {}, config::OperatorConfig config = config::defaultConfig())
      : config_(std::move(config)), components_(read(overlay)) {
    config_.infrastructure.natsAddress = "nats://nats:4222";
    config_.infrastructure.etcdAddress = "etcd:2379";
    config_.infrastructure.modelExpressUrl = "http://mx:8080";
    config_.infrastructure.prometheusEndpoint = "http://prometheus:9090";
  }
  Admission(const Admission&) = delete;
  Admission& operator=(const Admission&) = delete;

  json::Value create(const json::Value& request, json::Allocator& allocator) const {
    return admit(request, nullptr, allocator, nullptr);
  }
  json::Value update(const json::Value& request, const json::Value& old, json::Allocator& allocator,
                     std::vector<std::string>* warnings = nullptr) const {
    return admit(request, &old, allocator, warnings);
  }

  config::OperatorConfig& config() { return config_; }

 private:
  const json::Value* read(std::string_view overlay) {
    if (overlay.empty()) return nullptr;
    if (json::parse(overlay, overlay_)) throw std::logic_error{"overlay does not parse"};
    return &overlay_;
  }

  json::Value admit(const json::Value& request, const json::Value* old, json::Allocator& allocator,
                    std::vector<std::string>* warnings) const {
    json::Value object = json::copy(request, allocator);
    const defaults::DefaultResult result =
        defaults::applyDefaults(object, old, {components_, config_, "1.0.0", "ns"}, allocator);
    for (const auto& warning : result.warnings) {
      if (warnings != nullptr) warnings->push_back(warning.message());
    }
    return object;
  }

  json::Document overlay_;
  config::OperatorConfig config_;
  defaults::ComponentDefaults components_;
};

}  // namespace dynamo::test
