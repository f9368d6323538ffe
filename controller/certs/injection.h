#pragma once
// Plans the patches of webhook configurations and of the CRD that make API servers trust the webhook. Pure.

#include <optional>
#include <string>

#include "certs/names.h"
#include "certs/openssl.h"
#include "common/json/value.h"
#include "controller/certs/ca_bundle.h"
#include "controller/certs/settings.h"

namespace dynamo::provisioning {

struct InjectionPlan {
  std::string patch;    ///< a JSON patch; empty: no write is needed
  std::string problem;  ///< why the object is wrong and cannot be corrected; may be empty
};

/// The caBundles that are changed. WhereEmpty: only in objects in which all of them are empty, or that have
/// kInjectedAnnotation. An object that is changed gets it with the value "true". With the value "false", or
/// if cert-manager injects the CA, the object is not changed.
enum class Injection { Everywhere, WhereEmpty };
inline constexpr std::string_view kInjectedAnnotation = "nvidia.com/ca-injected";

/// Plans the caBundle of each entry in a Mutating- or ValidatingWebhookConfiguration that calls `service`.
/// Entries of other Services and entries with a URL are not changed. Every operation is guarded by a test of
/// the entry's name, so a list that another program has reordered is not damaged (cert-Q12). If cert-manager
/// injects the CA of the object, the patch is empty.
InjectionPlan planWebhooks(const json::Value& configuration, const certs::ServiceName& service,
                           std::string_view ca, certs::Time now, Injection injection);

enum class ServiceState { Unknown, Exists, Gone };

struct ConversionPlan : InjectionPlan {
  /// The Service of another operator in the CRD. Set if a restricted operator must check whether the Service
  /// exists before it may change the CRD.
  std::optional<certs::ServiceName> other;
};

/// Plans spec.conversion of the CRD: strategy, Service, path and caBundle.
/// - A conversion webhook with a URL was configured by an administrator and is not changed.
/// - A restricted operator replaces another Service only if `other`, the state of that Service, is Gone
///   (cert-Q2).
/// - If cert-manager injects the CA of the CRD, caBundle is not changed (cert-Q1).
/// - If `ca` is empty, caBundle is not changed.
ConversionPlan planConversion(const json::Value& crd, const Settings& settings, std::string_view ca,
                              ServiceState other, certs::Time now);

}  // namespace dynamo::provisioning
