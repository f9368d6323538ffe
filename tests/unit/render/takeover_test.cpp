// The takeover of children that the reference operator wrote.
#include "common/render/takeover.h"

#include <catch2/catch.hpp>
#include <string>

#include "support.h"

namespace dynamo::render::test {
namespace {

constexpr std::string_view kMarked =
    R"("annotations":{"nvidia.com/last-applied-hash":"h","nvidia.com/last-applied-generation":"1"})";

/// An object with its annotations, the rest of its metadata, and other members.
std::string object(std::string_view metadata, std::string_view rest) {
  return std::string{R"({"metadata":{"resourceVersion":"7",)"}.append(metadata).append("}").append(rest) +
         "}";
}

std::string entry(std::string_view manager, std::string_view operation, std::string_view fields,
                  std::string_view subresource = "") {
  std::string text = R"({"manager":")";
  text.append(manager).append(R"(","operation":")").append(operation);
  text.append(R"(","apiVersion":"apps/v1","fieldsV1":)").append(fields);
  if (!subresource.empty()) text.append(R"(,"subresource":")").append(subresource).append("\"");
  return text + "}";
}

const std::string kReference =
    R"({"f:metadata":{"f:annotations":{".":{},"f:a":{},"f:nvidia.com/last-applied-generation":{},)"
    R"("f:nvidia.com/last-applied-hash":{}}},"f:spec":{"f:replicas":{},"f:template":{}}})";

std::string patchText(const std::string& managedFields, std::string_view wanted,
                      std::string_view rest = R"(,"spec":{})") {
  json::Document memory;
  const json::Document live =
      parsed(object(std::string{kMarked} + R"(,"managedFields":[)" + managedFields + "]", rest));
  return json::dump(takeoverPatch(live, parsed(wanted), "us", memory.GetAllocator()));
}

const std::string kRemoved =
    R"("annotations":{"nvidia.com/last-applied-hash":null,"nvidia.com/last-applied-generation":null})";

}  // namespace

TEST_CASE("a child needs a takeover while it has the mark of the reference operator") {
  struct Row {
    const char* what;
    std::string live;
    bool applied;
    bool needed;
  };
  const std::string marked{kMarked};
  const Row rows[] = {
      {"never applied", object(marked, R"(,"spec":{})"), false, true},
      {"the reference operator has written it again", object(marked, R"(,"spec":{})"), true, true},
      {"without a spec, never applied", object(marked, R"(,"rules":[])"), false, true},
      {"without a spec, applied", object(marked, R"(,"rules":[])"), true, false},
      {"made by this controller", object(R"("annotations":{"a":"b"})", R"(,"spec":{})"), false, false},
      {"without annotations", object(R"("name":"a")", R"(,"spec":{})"), false, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    CHECK(needsTakeover(parsed(row.live), row.applied) == row.needed);
  }
}

TEST_CASE("a takeover turns the update entry of the reference operator into an apply entry") {
  const std::string status = entry("manager", "Update", R"({"f:status":{}})", "status");
  const std::string user = entry("kubectl-edit", "Update", R"({"f:spec":{"f:paused":{}}})");
  CHECK(patchText(status + "," + entry("manager", "Update", kReference) + "," + user,
                  R"({"spec":{"replicas":1}})") == R"({"metadata":{"resourceVersion":"7","managedFields":[)" +
                                                       status + "," + user + "," +
                                                       entry("us", "Apply", kReference) + "]}}");
}

TEST_CASE("a takeover adds to the fields that were applied before") {
  CHECK(
      patchText(entry("us", "Apply", R"({"f:spec":{"f:selector":{}}})") + "," +
                    entry("manager", "Update", kReference),
                R"({"spec":{"replicas":1}})") ==
      R"({"metadata":{"resourceVersion":"7","managedFields":[)" +
          entry(
              "us", "Apply",
              R"({"f:spec":{"f:selector":{},"f:replicas":{},"f:template":{}},"f:metadata":{"f:annotations":)"
              R"({".":{},"f:a":{},"f:nvidia.com/last-applied-generation":{},"f:nvidia.com/last-applied-hash":{}}}})") +
          "]}}");
}

TEST_CASE("a takeover that is done twice, because the process ended before the apply, changes nothing more") {
  CHECK(patchText(entry("us", "Apply", kReference), R"({"spec":{"replicas":1}})") ==
        R"({"metadata":{"resourceVersion":"7","managedFields":[)" + entry("us", "Apply", kReference) + "]}}");
}

TEST_CASE("a mark that somebody else owns, too, is removed by the patch") {
  const std::string other =
      entry("kubectl", "Apply", R"({"f:metadata":{"f:annotations":{"f:nvidia.com/last-applied-hash":{}}}})");
  CHECK(patchText(entry("manager", "Update", kReference) + "," + other, R"({"spec":{"replicas":1}})") ==
        R"({"metadata":{"resourceVersion":"7","managedFields":[)" + other + "," +
            entry("us", "Apply", kReference) + R"(],"annotations":{"nvidia.com/last-applied-hash":null}}})");
}

TEST_CASE("a takeover turns the own update entry into an apply entry, but not that of the status") {
  const std::string status = entry("us", "Update", R"({"f:status":{}})", "status");
  CHECK(patchText(entry("us", "Apply", R"({"f:spec":{"f:selector":{}}})") + "," + status + "," +
                      entry("us", "Update", R"({"f:spec":{"f:ports":{}}})"),
                  R"({"spec":{"replicas":1}})") ==
        R"({"metadata":{"resourceVersion":"7","managedFields":[)" + status + "," +
            entry("us", "Apply", R"({"f:spec":{"f:selector":{},"f:ports":{}}})") + "]," + kRemoved + "}}");
}

TEST_CASE("replicas that are not applied keep their owner") {
  CHECK(patchText(entry("manager", "Update", kReference), R"({"spec":{}})").find("f:replicas") ==
        std::string::npos);
}

TEST_CASE("the mark stays on kinds without a spec, and keeps its owner") {
  CHECK(patchText(entry("manager", "Update", kReference), "{}", R"(,"rules":[])") ==
        R"({"metadata":{"resourceVersion":"7","managedFields":[)" +
            entry("manager", "Update",
                  R"({"f:metadata":{"f:annotations":{"f:nvidia.com/last-applied-hash":{},)"
                  R"("f:nvidia.com/last-applied-generation":{}}}})") +
            "," +
            entry("us", "Apply",
                  R"({"f:metadata":{"f:annotations":{".":{},"f:a":{}}},"f:spec":{"f:template":{}}})") +
            "]}}");
}

TEST_CASE("an object without managed fields only loses the mark") {
  CHECK(patchText("", R"({"spec":{}})") == R"({"metadata":{"resourceVersion":"7",)" + kRemoved + "}}");
}

}  // namespace dynamo::render::test
