#pragma once
// Lists of resources as the API server compares them.

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/k8s/quantity.h"
#include "common/rules/pod/parts.h"

namespace dynamo::rules::pod {

using Amount = decltype(k8s::Quantity::nano);

struct Entry {
  std::string_view name;
  std::string text;
  Amount amount;  ///< in nano, rounded up to milli as the API server does
};

/// By name; nullopt for an amount that cannot be read and has its own error.
using Entries = std::map<std::string_view, std::optional<Entry>>;

bool isHugepages(std::string_view name);

/// Reads requests or limits, and reports names and amounts that cannot be.
Entries entries(const Reports& report, const json::Value* list, const At& at);

/// Reports a request that its limit does not allow. The places are those of the resource.
void compare(const Reports& report, const Entry& request, const Entries& limits, const At& requestAt,
             const At& limitAt);

/// Huge pages are allowed only beside cpu or memory.
bool needsCpuOrMemory(const Entries& limits, const Entries& requests);

/// An amount that entries() would read; nullopt for one that it would report.
std::optional<Amount> amountOf(const json::Value& value);

}  // namespace dynamo::rules::pod
