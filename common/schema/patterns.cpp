#include "common/schema/patterns.h"

#include <algorithm>
#include <array>

#include "common/json/ascii.h"

namespace dynamo::schema {
namespace {

using json::isDigit;

bool isLower(char c) {
  return c >= 'a' && c <= 'z';
}
bool isLetter(char c) {
  return isLower(c) || (c >= 'A' && c <= 'Z');
}
bool isAlphanumeric(char c) {
  return isLetter(c) || isDigit(c);
}

bool contains(std::string_view set, char c) {
  return set.find(c) != set.npos;
}

bool takeSign(std::string_view& s) {
  if (s.empty() || !contains("+-", s.front())) return false;
  s.remove_prefix(1);
  return true;
}

std::size_t takeDigits(std::string_view& s) {
  const auto end = std::find_if_not(s.begin(), s.end(), isDigit);
  const auto count = static_cast<std::size_t>(end - s.begin());
  s.remove_prefix(count);
  return count;
}

/// digits[.digits*] or .digits
bool takeDecimal(std::string_view& s) {
  const std::size_t whole = takeDigits(s);
  if (s.empty() || s.front() != '.') return whole > 0;
  s.remove_prefix(1);
  return takeDigits(s) > 0 || whole > 0;
}

bool isQuantity(std::string_view s) {
  takeSign(s);
  if (!takeDecimal(s)) return false;
  if (s.empty()) return true;
  if (s.size() == 1 && contains("numkMGTPE", s.front())) return true;
  if (s.size() == 2 && contains("KMGTPE", s.front()) && s[1] == 'i') return true;
  if (!contains("eE", s.front())) return false;
  s.remove_prefix(1);
  takeSign(s);
  return takeDecimal(s) && s.empty();
}

bool isConditionReason(std::string_view s) {
  const auto isInner = [](char c) { return isAlphanumeric(c) || contains("_,:", c); };
  return !s.empty() && isLetter(s.front()) && std::all_of(s.begin(), s.end(), isInner) &&
         (isAlphanumeric(s.back()) || s.back() == '_');
}

bool isLowerLabel(std::string_view s) {
  const auto isEdge = [](char c) { return isLower(c) || isDigit(c); };
  const auto isInner = [&](char c) { return isEdge(c) || c == '-'; };
  return !s.empty() && isEdge(s.front()) && isEdge(s.back()) && std::all_of(s.begin(), s.end(), isInner);
}

/// Labels of lower case joined by dots.
bool isDomain(std::string_view s) {
  while (true) {
    const std::size_t dot = s.find('.');
    if (!isLowerLabel(s.substr(0, dot))) return false;
    if (dot == s.npos) return true;
    s.remove_prefix(dot + 1);
  }
}

bool isConditionType(std::string_view s) {
  const auto isInner = [](char c) { return isAlphanumeric(c) || contains("-_.", c); };
  if (const std::size_t slash = s.find('/'); slash != s.npos) {
    if (!isDomain(s.substr(0, slash))) return false;
    s.remove_prefix(slash + 1);
  }
  return !s.empty() && isAlphanumeric(s.front()) && isAlphanumeric(s.back()) &&
         std::all_of(s.begin(), s.end(), isInner);
}

constexpr std::array kPatterns{
    Pattern{R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|)"
            R"(([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)",
            isQuantity},
    Pattern{R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)", isConditionReason},
    Pattern{R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?)"
            R"((([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)",
            isConditionType},
};

}  // namespace

const Pattern* findPattern(std::string_view text) {
  const auto found = std::find_if(kPatterns.begin(), kPatterns.end(),
                                  [&](const Pattern& pattern) { return pattern.text == text; });
  return found == kPatterns.end() ? nullptr : &*found;
}

const Pattern* patternsBegin() {
  return kPatterns.data();
}
const Pattern* patternsEnd() {
  return kPatterns.data() + kPatterns.size();
}

}  // namespace dynamo::schema
