#pragma once
// What the API server is asked about a bearer token, and what its answers mean. Pure functions.

#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::access {

/// Whether a client may read the page.
enum class Verdict {
  Allowed,
  Denied,           ///< 403: the token belongs to a user without the right
  Unauthenticated,  ///< 401: no user has the token
};

/// Returns the token of a header `Authorization: Bearer TOKEN`. The scheme has any case. Returns nullopt if
/// the header has another form.
std::optional<std::string_view> bearerToken(std::string_view authorization);

/// Returns the body of a TokenReview.
std::string tokenReview(std::string_view token);

/// Returns the body of the SubjectAccessReview that asks whether the user of an answered TokenReview may
/// `get` the path. Returns nullopt if no user has the token.
std::optional<std::string> accessReview(const json::Value& answeredTokenReview, std::string_view path);

/// Returns whether an answered SubjectAccessReview allows the access. As in Kubernetes, only an explicit
/// answer allows it.
bool allows(const json::Value& answeredAccessReview);

}  // namespace dynamo::access
