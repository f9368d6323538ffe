#include "webhook/routes.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "common/admission/kinds.h"
#include "common/k8s/names.h"

namespace dynamo::webhook {
namespace {

/// The reference's paths, and paths of the same form for the kinds without a webhook in the reference.
std::string pathOf(std::string_view action, const admission::Kind& kind) {
  std::string version{kind.apiVersion};
  std::replace_if(
      version.begin(), version.end(), [](char c) { return c == '.' || c == '/'; }, '-');
  return fmt::format("/{}-{}-{}", action, version, k8s::lowerAscii(kind.name));
}

std::vector<AdmissionRoute> makeRoutes() {
  std::vector<AdmissionRoute> routes;
  for (const admission::Kind& kind : admission::kinds()) {
    const AdmissionKind target{kind.apiVersion, kind.name};
    if (kind.defaults != admission::Defaults::None) {
      routes.push_back({pathOf("mutate", kind), Role::Mutate, target});
    }
    routes.push_back({pathOf("validate", kind), Role::Validate, target});
  }
  return routes;
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs `answer` and notifies the observers of its start and end. The time starts when the request is
/// complete.
template <class Answer>
Reply runObserved(const Observers& observers, std::string_view path, const HttpRequest& request,
                  const Answer& answer) {
  if (observers.started) observers.started(path);
  const bool known = request.arrived != std::chrono::steady_clock::time_point{};
  const auto start = known ? request.arrived : std::chrono::steady_clock::now();
  const auto end = [&](int status, bool threw, bool selfCheck) {
    if (observers.finished) observers.finished(path, {status, threw, selfCheck, secondsSince(start)});
  };
  try {
    Reply reply = answer(start);
    end(reply.status, false, reply.selfCheck);
    return reply;
  } catch (...) {
    end(500, true, false);  // the server answers 500
    throw;
  }
}

Admit makeAdmit(Role role, const CurrentSettings& settings) {
  if (role == Role::Mutate) {
    return [&settings](json::Value& object, const admission::Request& request, json::Allocator& allocator) {
      return admission::mutate(object, request, *settings.get(), allocator);
    };
  }
  return [&settings](json::Value& object, const admission::Request& request, json::Allocator&) {
    return admission::validate(object, request, *settings.get());
  };
}

}  // namespace

std::span<const AdmissionRoute> admissionRoutes() {
  static const std::vector<AdmissionRoute> kRoutes = makeRoutes();
  return kRoutes;
}

Routes::Routes(std::shared_ptr<CurrentSettings> settings, Observers observers)
    : settings_(std::move(settings)), observers_(std::move(observers)) {
  for (const AdmissionRoute& entry : admissionRoutes()) {
    const admission::Kind& kind = *admission::findKind(entry.kind.kind);
    const auto handle = [this, &entry, admit = makeAdmit(entry.role, *settings_)](HttpRequest& request) {
      return runObserved(observers_, entry.path, request, [&](auto start) {
        return answerAdmission(request, entry.kind, admit, [&](const AdmissionOutcome& outcome) {
          if (outcome.readable && observers_.admission) {
            observers_.admission(entry, outcome, secondsSince(start));
          }
          if (!outcome.allowed && observers_.denied) observers_.denied(entry, outcome);
        });
      });
    };
    const bool rendered = kind.dryRender != nullptr;
    routes_.emplace(entry.path,
                    Route{kMaxAdmissionBody, false, handle, rendered ? kHeavyRenderedBody : kHeavyBody,
                          /*guarded=*/true});
  }
  const auto convert = [this](HttpRequest& request) {
    return runObserved(observers_, kConvertPath, request, [&](auto start) {
      return answerConversion(request, [&](const ConversionOutcome& outcome) {
        if (observers_.conversion) observers_.conversion(outcome, secondsSince(start));
        if (outcome.failed && observers_.conversionFailed) observers_.conversionFailed(outcome);
      });
    });
  };
  // Not guarded: API servers present a certificate for admission only.
  routes_.emplace(kConvertPath, Route{kMaxConversionBody, true, convert});
}

const Route* Routes::find(std::string_view path) const {
  const auto found = routes_.find(path);
  return found == routes_.end() ? nullptr : &found->second;
}

}  // namespace dynamo::webhook
