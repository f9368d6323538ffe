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

/// Entries by name; nullopt for an amount that cannot be parsed, which has its own error.
using Entries = std::map<std::string_view, std::optional<Entry>>;

bool isHugepages(std::string_view name);

/// Parses requests or limits, and reports invalid names and amounts.
Entries entries(const Reports& report, const json::Value* list, const At& at);

/// Reports a request that does not fit its limit. `requestAt` and `limitAt` are the places of the resource.
void checkRequestAgainstLimit(const Reports& report, const Entry& request, const Entries& limits,
                              const At& requestAt, const At& limitAt);

/// Whether there are huge pages without cpu or memory.
bool needsCpuOrMemory(const Entries& limits, const Entries& requests);

/// The amount as entries() parses it; nullopt when entries() would report an error.
std::optional<Amount> amountOf(const json::Value& value);

}  // namespace dynamo::rules::pod
