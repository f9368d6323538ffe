#pragma once
// How one rule writes its findings.

#include <span>
#include <string>
#include <string_view>

#include "common/field/finding.h"
#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::field {

/// Writes the findings of one rule, in apimachinery's words; the first kMostOfRule of them, as nobody reads
/// more and each costs a search in the old object.
class Report {
 public:
  static constexpr int kMostOfRule = 1000;

  Report(Findings& findings, std::string_view rule) : findings_(findings), rule_(rule) {}

  void required(const At& at, std::string detail = {}) const;
  void invalid(const At& at, std::string_view value, std::string detail) const;
  void invalid(const At& at, const json::Value& value, std::string detail) const;
  /// An error without the value: it is a map or a list, or says nothing.
  void refused(const At& at, std::string detail) const;
  /// "supported values: …", and what was probably meant.
  void notSupported(const At& at, std::string_view value, std::span<const std::string_view> supported) const;
  void forbidden(const At& at, std::string detail) const;
  void duplicate(const At& at, std::string_view value, std::string detail = {}) const;
  void notFound(const At& at, std::string_view value, std::string detail) const;
  /// `about`: what is too long, where the field alone does not say it.
  void tooLong(const At& at, std::string detail, std::string_view about = {}) const;
  /// One plain sentence: about 100 bytes, so that many fit into what an API server passes on.
  void warn(const At& at, std::string text) const;
  /// invalid() unless `problem` is empty.
  void check(const At& at, std::string_view value, const std::string& problem) const;

 private:
  void error(ErrorType type, const At& at, std::string shown, std::string detail) const;

  Findings& findings_;
  std::string_view rule_;
  mutable int left_ = kMostOfRule;
};

}  // namespace dynamo::field
