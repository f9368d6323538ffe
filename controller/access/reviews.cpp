#include "controller/access/reviews.h"

#include <algorithm>

#include "common/json/build.h"

namespace dynamo::access {

using json::Value;

std::optional<std::string_view> bearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer";
  if (authorization.size() <= kScheme.size() || authorization[kScheme.size()] != ' ') return std::nullopt;
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    constexpr int kLower = 0x20;
    if ((authorization[i] | kLower) != kScheme[i]) return std::nullopt;
  }
  authorization.remove_prefix(kScheme.size());
  const auto begin = authorization.find_first_not_of(' ');
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view token = authorization.substr(begin);
  // A token has visible ASCII characters only (RFC 6750). Other bytes would not be valid JSON.
  const bool visible = std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; });
  return visible ? std::optional{token} : std::nullopt;
}

std::string tokenReview(std::string_view token) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  Value spec = make.object("token", token);
  return json::dump(
      make.object("apiVersion", "authentication.k8s.io/v1", "kind", "TokenReview", "spec", std::move(spec)));
}

std::optional<std::string> accessReview(const Value& answeredTokenReview, std::string_view path) {
  const Value* const status = json::findObject(&answeredTokenReview, "status");
  const Value* const user = json::findObject(status, "user");
  if (!json::findBool(status, "authenticated").value_or(false) || json::findText(user, "username").empty())
    return std::nullopt;
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  Value spec = make.object("user", json::findText(user, "username"));
  for (const char* member : {"uid", "groups", "extra"}) {
    if (const Value* value = json::find(user, member)) make.set(spec, member, *value);
  }
  make.set(spec, "nonResourceAttributes", make.object("path", path, "verb", "get"));
  return json::dump(make.object("apiVersion", "authorization.k8s.io/v1", "kind", "SubjectAccessReview",
                                "spec", std::move(spec)));
}

bool allows(const Value& answeredAccessReview) {
  const Value* const status = json::findObject(&answeredAccessReview, "status");
  return json::findBool(status, "allowed").value_or(false) &&
         !json::findBool(status, "denied").value_or(false);
}

}  // namespace dynamo::access
