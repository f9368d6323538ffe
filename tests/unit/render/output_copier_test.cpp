// The script of the output copier, run by /bin/sh with a kubectl that writes down what it is asked.
#include "common/render/output_copier.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace dynamo::render {
namespace {

namespace fs = std::filesystem;

/// Says that the profiler has ended, and keeps what is applied. Where "refusals" holds lines, it takes one
/// off instead of applying.
constexpr const char* kKubectl = R"sh(#!/bin/sh
echo "$*" >> "$DIR/calls"
case "$1" in
  get) echo ended ;;
  create) shift; printf '%s\n' "$@" ;;
  label) cat; shift; printf '%s\n' "$@" ;;
  apply)
    if [ -s "$DIR/refusals" ]; then sed -i 1d "$DIR/refusals"; exit 1; fi
    cat > "$DIR/applied" ;;
esac
)sh";

class Copier {
 public:
  Copier() {
    std::string made = (fs::temp_directory_path() / "output-copier-XXXXXX").string();
    REQUIRE(mkdtemp(made.data()) != nullptr);
    folder_ = made;
    fs::create_directory(folder_ / "bin");
    fs::create_directory(folder_ / "data");
    program("kubectl", kKubectl);
    program("sleep", "#!/bin/sh\necho \"sleep $*\" >> \"$DIR/calls\"\n");
  }
  ~Copier() { fs::remove_all(folder_); }
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{folder_ / name, std::ios::binary} << text;
  }
  std::string read(const std::string& name) const {
    std::ifstream file{folder_ / name, std::ios::binary};
    return {std::istreambuf_iterator<char>{file}, {}};
  }

  /// Runs the script to its end; returns what was applied.
  std::string run() const {
    std::string script = outputCopierScript("r", "ns");
    const std::string data = "folder=/data\n";
    const auto found = script.find(data);
    REQUIRE(found != std::string::npos);
    script.replace(found, data.size(), fmt::format("folder={}/data\n", folder_.string()));
    const std::string hour = "most=720";
    const auto tries = script.find(hour);
    REQUIRE(tries != std::string::npos);
    write("script", script.replace(tries, hour.size(), "most=24"));
    const std::string command =
        fmt::format("cd {0} && DIR={0} HOSTNAME=pod-1 PATH={0}/bin:$PATH /bin/sh -eu script > log 2>&1",
                    folder_.string());
    const int status = std::system(command.c_str());
    INFO(read("log"));
    CHECK(status == 0);
    return read("applied");
  }

  std::string file(const std::string& key) const {
    return fmt::format("{0}={1}/data/{0}", key, folder_.string());
  }

 private:
  void program(const std::string& name, const std::string& text) const {
    write("bin/" + name, text);
    fs::permissions(folder_ / "bin" / name, fs::perms::owner_all);
  }

  fs::path folder_;
};

const std::string kHead = "configmap\ndgdr-output-r\n--namespace=ns\n--dry-run=client\n-o\nyaml\n";
const std::string kLabels =
    "--local\n-f\n-\n-o\nyaml\ndgdr.nvidia.com/name=r\nnvidia.com/managed-by=dynamo-operator\n";

TEST_CASE("results get into the ConfigMap") {
  const Copier copier;
  copier.write("data/profiler_status.yaml", "timestamp: now\nstatus: \"success\"\n");
  copier.write("data/final_config.yaml", "a: b\n");
  CHECK(copier.run() == kHead + "--from-file=" + copier.file("final_config.yaml") +
                            "\n--from-file=" + copier.file("profiler_status.yaml") + "\n" + kLabels);
  CHECK(copier.read("calls").starts_with("get pod pod-1 --namespace=ns -o jsonpath="));
  copier.write("data/webui_data.json", "{}");
  CHECK(copier.run().find("--from-file=" + copier.file("webui_data.json")) != std::string::npos);
}

TEST_CASE("what a ConfigMap cannot hold is left out, or is an error") {
  const Copier copier;
  copier.write("data/profiler_status.yaml", "status: success\n");
  copier.write("data/final_config.yaml", "a: b\n");
  copier.write("data/webui_data.json", std::string(1'050'000, 'x'));
  const std::string made = copier.run();
  CHECK(made.find("final_config.yaml") != std::string::npos);
  CHECK(made.find("webui_data.json") == std::string::npos);
  CHECK(copier.read("log").find("webui_data.json is too large and left out") != std::string::npos);
  copier.write("data/final_config.yaml", std::string(1'050'000, 'x'));
  CHECK(copier.run().find("--from-literal=output_copier_error.txt=the output is too large for a ConfigMap") !=
        std::string::npos);
}

TEST_CASE("what has failed becomes a key of its own") {
  struct Row {
    const char* status;
    bool result;
    const char* error;
  };
  const Row rows[] = {
      {"status: failed\nmessage: m\nerror: no $(date) \"GPU\": `a`\n", true,
       "profiling has failed: no $(date) \"GPU\": `a`"},
      {"status: 'failed'\nmessage: m: n\n", true, "profiling has failed: m: n"},
      {"status: failed", true, "profiling has failed: the profiler says no more"},
      {"status: running\n", true, "the profiler has ended before it was done"},
      {"message: m\n", true, "profiler_status.yaml has no status"},
      {"status: odd one\n", true, "profiler_status.yaml has the unknown status odd"},
      {"status: success\n", false, "the profiler has written no final_config.yaml"},
  };
  for (const Row& row : rows) {
    INFO(row.status);
    const Copier copier;
    copier.write("data/profiler_status.yaml", row.status);
    if (row.result) copier.write("data/final_config.yaml", "a: b\n");
    CHECK(copier.run() == kHead + "--from-literal=output_copier_error.txt=" + row.error +
                              "\n--from-file=" + copier.file("profiler_status.yaml") + "\n" + kLabels);
  }
}

TEST_CASE("a profiler that ends without a word in its status has said why in its log") {
  struct Row {
    std::string log;
    std::string cause;
  };
  const Row rows[] = {
      {"", ""},
      {"2026-11-27 22:11:28 - dynamo.profiler - INFO - Profiler config: itl=0.0\n", ""},
      {"now - cli - ERROR - No successful experiment runs to compare.\n"
       "now - cli - ERROR -   -> Experiment agg returned no results. TTFT is \"$(x)\" \xe2\x80\x94 too "
       "tight\n"
       "now - dynamo.profiler - INFO - Performing final cleanup\n",
       ": Experiment agg returned no results. TTFT is \"$(x)\" \xe2\x80\x94 too tight"},
      {"now - cli - ERROR - a - ERROR - b\nTraceback (most recent call last):\n", ": a - ERROR - b"},
      {"now - cli - ERROR - the log has no newline at its end", ": the log has no newline at its end"},
      {"now - cli - ERROR - " + std::string(5000, 'x') + "\n", ""},
  };
  for (const Row& row : rows) {
    INFO(row.log);
    const Copier copier;
    copier.write("data/profiler_status.yaml", "status: running\n");
    copier.write("data/profile_sla.log", row.log);
    const std::string applied = copier.run();
    CHECK(applied.find("=the profiler has ended before it was done" + row.cause + "\n") != std::string::npos);
  }
}

TEST_CASE("a status that never comes is an error after two minutes") {
  const Copier copier;
  CHECK(copier.run() == kHead +
                            "--from-literal=output_copier_error.txt=the profiler has written no "
                            "profiler_status.yaml\n" +
                            kLabels);
  const std::string calls = copier.read("calls");
  std::size_t waits = 0;
  for (std::size_t at = calls.find("sleep 2\n"); at != std::string::npos;
       at = calls.find("sleep 2\n", at + 1))
    ++waits;
  CHECK(waits == 60);
}

TEST_CASE("a ConfigMap that cannot be written is written again, and the script still ends with 0") {
  const Copier copier;
  copier.write("data/profiler_status.yaml", "status: success\n");
  copier.write("data/final_config.yaml", "a: b\n");
  copier.write("refusals", "1\n2\n");
  CHECK_FALSE(copier.run().empty());
  const Copier never;
  never.write("data/profiler_status.yaml", "status: success\n");
  never.write("data/final_config.yaml", "a: b\n");
  never.write("refusals", std::string(100, '\n'));
  CHECK(never.run().empty());
  CHECK(never.read("log").find("could not write ConfigMap dgdr-output-r") != std::string::npos);
}

}  // namespace
}  // namespace dynamo::render
