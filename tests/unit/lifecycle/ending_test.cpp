// Each case of an ending, and how endings combine.
#include "common/lifecycle/ending.h"

#include <catch2/catch.hpp>
#include <vector>

#include "common/lifecycle/failures.h"

namespace dynamo::lifecycle::test {

TEST_CASE("each ending has a message, an error type, and a form when it lasts") {
  struct Row {
    Ending ending;
    std::string_view message;
    std::string_view type;
    bool error;
    bool lastingIsPermanent;
  };
  const Row rows[] = {
      {Done{}, "", "internal", false, false},
      {LookAgain{"m"}, "m", "internal", false, false},
      {LookAgain{"m", true}, "m", "internal", true, true},
      {Conflict{"m"}, "m", "conflict", false, false},
      {Transient{"m", "timeout"}, "m", "timeout", true, true},
      {Permanent{"m", "forbidden"}, "m", "forbidden", true, true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.ending.index());
    CHECK(messageOf(row.ending) == row.message);
    CHECK(errorTypeOf(row.ending) == row.type);
    CHECK(isError(row.ending) == row.error);
    const Ending late = lasting(row.ending);
    CHECK(isPermanent(late) == row.lastingIsPermanent);
    CHECK(messageOf(late) == row.message);
    CHECK(errorTypeOf(late) == row.type);
  }
}

TEST_CASE("only an object that is invalid itself stays refused (decision life-Q34)") {
  struct Row {
    Ending ending;
    bool invalid;
  };
  const Row rows[] = {
      {Permanent{"Job.batch \"j\" is invalid: spec.template: Required value", kInvalidError}, true},
      {Permanent{"Job in version \"v1\" cannot be handled as a Job", kBadRequestError}, true},
      {Permanent{
           "jobs.batch \"j\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
           kInvalidError},
       false},
      {Permanent{"admission webhook \"w.example.com\" denied the request: no", kBadRequestError}, false},
      {Permanent{"admission webhook \"w.example.com\" denied the request without explanation", kInvalidError},
       false},
      {Permanent{"jobs.batch \"j\" is forbidden: exceeded quota: q", "forbidden"}, false},
      {Transient{"timeout", kInvalidError}, false},
      {Done{}, false},
  };
  for (const Row& row : rows) {
    CAPTURE(messageOf(row.ending));
    CHECK(isInvalid({&row.ending, 1}) == row.invalid);
  }
}

TEST_CASE("the first of the gravest endings is the ending of all") {
  CHECK(isDone(gravestOf({})));
  // From the lightest to the gravest.
  const std::vector<Ending> order = {Done{},
                                     LookAgain{"wait"},
                                     Conflict{"conflict"},
                                     LookAgain{"passing", true},
                                     Transient{"transient"},
                                     Permanent{"permanent"}};
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (std::size_t j = 0; j < order.size(); ++j) {
      const std::vector<Ending> both = {order[i], order[j]};
      CHECK(messageOf(gravestOf(both)) == messageOf(order[std::max(i, j)]));
    }
  }
  const std::vector<Ending> equal = {Permanent{"first"}, Permanent{"second"}};
  CHECK(messageOf(gravestOf(equal)) == "first");
}

}  // namespace dynamo::lifecycle::test
