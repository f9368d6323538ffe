#include "controller/certs/rewrite_limit.h"

#include <catch2/catch.hpp>

#include "tests/unit/provisioning/support.h"

namespace dynamo::provisioning::test {

using std::chrono::minutes;
using std::chrono::seconds;

TEST_CASE("an object may be written a few times at once, then once per interval") {
  RewriteLimit limit{2, minutes{10}};
  CHECK_FALSE(limit.blockedUntil("a", kNow));
  limit.count("a", kNow);
  CHECK_FALSE(limit.blockedUntil("a", kNow + minutes{1}));
  limit.count("a", kNow + minutes{1});
  CHECK(limit.blockedUntil("a", kNow + minutes{2}) == kNow + minutes{10});
  CHECK_FALSE(limit.blockedUntil("b", kNow + minutes{2}));
  CHECK_FALSE(limit.blockedUntil("a", kNow + minutes{10}));
  limit.count("a", kNow + minutes{10});
  CHECK(limit.blockedUntil("a", kNow + minutes{10}) == kNow + minutes{20});
}

TEST_CASE("the limit is full again after a quiet time, and not fuller") {
  RewriteLimit limit{2, minutes{10}};
  limit.count("a", kNow);
  limit.count("a", kNow);
  const Time later = kNow + hours{5};
  limit.count("a", later);
  limit.count("a", later);
  CHECK(limit.blockedUntil("a", later + seconds{1}) == later + minutes{10});
}

TEST_CASE("a clock that is set back blocks for one interval at most") {
  RewriteLimit limit{1, minutes{10}};
  limit.count("a", kNow);
  const Time past = kNow - days{30};
  CHECK(limit.blockedUntil("a", past) == past + minutes{10});
}

}  // namespace dynamo::provisioning::test
