#include "common/render/output_copier.h"

#include <fmt/format.h>

#include "common/api/dgdr.h"
#include "common/api/dynamo.h"

namespace dynamo::render {
namespace {

// The script retries failed calls, because a restart of the API server must not lose hours of profiling.
// The kubelet expands $(NAME) in args. It leaves $(...) below alone, because a NAME contains no spaces.
constexpr std::string_view kScript = R"sh(
say() { echo "output-copier: $*"; }

publish() {
  tries=0
  while [ "$tries" -lt "$most" ]; do
    tries=$((tries + 1))
    if manifest=$(kubectl create configmap "$config_map" --namespace="$namespace" --dry-run=client -o yaml "$@") &&
      manifest=$(printf '%s\n' "$manifest" | kubectl label --local -f - -o yaml "$name_label" "$manager_label") &&
      printf '%s\n' "$manifest" | kubectl apply --server-side --force-conflicts --field-manager=output-copier -f -
    then
      return 0
    fi
    sleep 5
  done
  say "could not write ConfigMap $config_map"
  return 1
}

# An error is not worth an hour of GPUs.
fail() {
  most=24
  say "$1"
  set -- --from-literal="$error_key=$1"
  if [ -f "$folder/$status_key" ]; then set -- "$@" --from-file="$status_key=$folder/$status_key"; fi
  publish "$@"
  exit 0
}

# The first word of a top-level key of the status, without quotes.
word_of() {
  value_of "$1"
  value=${value#[\"\']}
  value=${value%%[\"\' ]*}
}

# The value of a top-level key of the status, as it is written.
value_of() {
  value=
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      "$1:"*)
        value=${line#"$1:"}
        while [ "${value# }" != "$value" ]; do value=${value# }; done
        return 0
        ;;
    esac
  done < "$folder/$status_key"
}

# The last error in the profiler's log, without the time and the name of the logger. A very long one is no message.
value_of_log() {
  value=
  if [ ! -f "$folder/$log" ]; then return 0; fi
  while IFS= read -r line || [ -n "$line" ]; do
    case $line in
      *' - ERROR - '*) value=${line#*' - ERROR - '} ;;
    esac
  done < "$folder/$log"
  while [ "${value#[ >-]}" != "$value" ]; do value=${value#?}; done
  if [ "${#value}" -gt 4000 ]; then value=; fi
}

say "waiting for the profiler to end"
waited=0
ended='{.status.containerStatuses[?(@.name=="profiler")].state.terminated}'
until [ -n "$(kubectl get pod "$HOSTNAME" --namespace="$namespace" -o "jsonpath=$ended" 2> /dev/null)" ]; do
  sleep 5
  waited=$((waited + 5))
  if [ $((waited % 300)) -eq 0 ]; then say "still waiting, for $waited seconds"; fi
done

waited=0
while [ ! -f "$folder/$status_key" ]; do
  if [ "$waited" -ge 120 ]; then fail "the profiler has written no $status_key"; fi
  sleep 2
  waited=$((waited + 2))
done

word_of status
case $value in
  success) ;;
  failed)
    value_of error
    if [ -z "$value" ]; then value_of message; fi
    fail "profiling has failed: ${value:-the profiler says no more}"
    ;;
  running)
    value_of_log
    fail "the profiler has ended before it was done${value:+: $value}"
    ;;
  '') fail "$status_key has no status" ;;
  *) fail "$status_key has the unknown status $value" ;;
esac

if [ ! -f "$folder/$result_key" ]; then fail "the profiler has written no $result_key"; fi
# A ConfigMap holds 1 MiB. The data of the web interface can be missing.
set --
size=0
for key in "$result_key" "$status_key" "$web_ui_key"; do
  if [ ! -f "$folder/$key" ]; then continue; fi
  bytes=$(wc -c < "$folder/$key") || bytes=0
  size=$((size + bytes))
  if [ "$size" -gt 1040000 ]; then
    if [ "$key" != "$web_ui_key" ]; then fail "the output is too large for a ConfigMap"; fi
    say "$key is too large and left out"
    continue
  fi
  set -- "$@" --from-file="$key=$folder/$key"
done
most=720
if publish "$@"; then say "the results are in ConfigMap $config_map"; fi
exit 0
)sh";

}  // namespace

std::string outputCopierScript(std::string_view request, std::string_view namespaceName) {
  namespace dgdr = api::dgdr;
  return fmt::format(
             "namespace={}\nconfig_map={}{}\nfolder={}\nname_label={}={}\nmanager_label={}={}\n"
             "result_key={}\nstatus_key={}\nweb_ui_key={}\nerror_key={}\nlog={}\n",
             namespaceName, dgdr::kOutputConfigMapPrefix, request, dgdr::kOutputPath,
             dgdr::kTrackingLabels[0], request, api::label::kManagedBy, api::kOperatorName, dgdr::kResultKey,
             dgdr::kProfilerStatusKey, dgdr::kWebUiKey, dgdr::kCopierErrorKey, dgdr::kProfilerLog) +
         std::string{kScript};
}

}  // namespace dynamo::render
