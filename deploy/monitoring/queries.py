"""The panels of both dashboards: what they show and their queries. `generate` makes Grafana's JSON of them."""

import dataclasses

# The controller's metrics are about the namespace of an object; the webhook's have no such label.
OF_OBJECTS = 'namespace=~"$namespace", resource_type=~"$resource_type"'
OF_KINDS = 'resource_type=~"$resource_type"'
OF_NAMESPACES = 'namespace=~"$namespace"'
GRAPHS = 'namespace=~"$namespace", resource_type="DynamoGraphDeployment"'


@dataclasses.dataclass(frozen=True)
class Panel:
    """`kind` is Grafana's type of the panel. `queries`: legend -> PromQL; a table has one query and no legend."""

    title: str
    description: str
    queries: dict
    kind: str = "timeseries"
    unit: str = "short"
    width: int = 12


@dataclasses.dataclass(frozen=True)
class Row:
    title: str


@dataclasses.dataclass(frozen=True)
class Dashboard:
    """`variables`: name -> label_values(...)"""

    uid: str
    title: str
    description: str
    file: str
    variables: dict
    panels: tuple


def share(metric, labels, result):
    """The share of one result among all."""
    part = f'sum(rate({metric}{{{labels}, result="{result}"}}[5m]))'
    return f"{part} / sum(rate({metric}{{{labels}}}[5m]))"


def quantile(q, metric, labels, by):
    matchers = f"{{{labels}}}" if labels else ""
    return f"histogram_quantile({q}, sum by ({by}, le) (rate({metric}_bucket{matchers}[5m])))"


# The uid, title, variables and panels of the reference, so that links to its dashboard stay valid.
OPERATOR = Dashboard(
    uid="dynamo-operator",
    title="Dynamo Operator",
    description="Reconciles, admission and inventory of the Dynamo operator.",
    file="operator-dashboard.json",
    variables={
        "namespace": "label_values(dynamo_operator_reconcile_total, namespace)",
        "resource_type": "label_values(dynamo_operator_resources_total, resource_type)",
    },
    panels=(
        Row("Reconciles"),
        Panel(
            "Reconciliation Rate",
            "Reconciles per second by kind and result.",
            {
                "{{resource_type}} {{result}}": "sum by (resource_type, result) "
                f"(rate(dynamo_operator_reconcile_total{{{OF_OBJECTS}}}[5m]))"
            },
            unit="ops",
        ),
        Panel(
            "Reconciliation Duration (P95)",
            "95 of 100 reconciles of the kind took at most this time.",
            {"{{resource_type}}": quantile(0.95, "dynamo_operator_reconcile_duration_seconds", OF_OBJECTS, "resource_type")},
            unit="s",
        ),
        Panel(
            "Reconciliation Errors",
            "Failed reconciles per second by kind and type of the error. All are retried.",
            {
                "{{resource_type}} {{error_type}}": "sum by (resource_type, error_type) "
                f"(rate(dynamo_operator_reconcile_errors_total{{{OF_OBJECTS}}}[5m]))"
            },
            unit="ops",
        ),
        Row("Admission"),
        Panel(
            "Webhook Request Rate",
            "Validation requests per second by kind, operation and result.",
            {
                "{{resource_type}} {{operation}} {{result}}": "sum by (resource_type, operation, result) "
                f"(rate(dynamo_operator_webhook_requests_total{{{OF_KINDS}}}[5m]))"
            },
            unit="reqps",
        ),
        Panel(
            "Webhook Duration (P95)",
            "95 of 100 validation requests of the kind took at most this time.",
            {"{{resource_type}}": quantile(0.95, "dynamo_operator_webhook_duration_seconds", OF_KINDS, "resource_type")},
            unit="s",
        ),
        Panel(
            "Webhook Denials",
            "Denied requests per second by kind, operation and reason. Reasons without denials are left out.",
            {
                "{{resource_type}} {{operation}} {{reason}}": "sum by (resource_type, operation, reason) "
                f"(rate(dynamo_operator_webhook_denials_total{{{OF_KINDS}}}[5m])) > 0"
            },
            unit="reqps",
        ),
        Row("Inventory"),
        Panel(
            "Resource Inventory by Namespace",
            "Custom resources by kind, namespace and status.",
            {"": f"sum by (resource_type, namespace, status) (dynamo_operator_resources_total{{{OF_OBJECTS}}})"},
            kind="table",
        ),
        Panel(
            "Resource Inventory by Status",
            "Custom resources by kind and status.",
            {
                "{{resource_type}} {{status}}": "sum by (resource_type, status) "
                f"(dynamo_operator_resources_total{{{OF_OBJECTS}}})"
            },
        ),
        Row("Success"),
        Panel(
            "Reconciliation Success Rate",
            "The share of reconciles that ended with success, without those that are repeated after a time.",
            {"success": share("dynamo_operator_reconcile_total", OF_OBJECTS, "success")},
            kind="stat",
            unit="percentunit",
        ),
        Panel(
            "Webhook Admission Success Rate",
            "The share of validation requests that were allowed.",
            {"allowed": share("dynamo_operator_webhook_requests_total", OF_KINDS, "allowed")},
            kind="stat",
            unit="percentunit",
        ),
    ),
)

NOT_READY = f"dynamo_operator_graph_not_ready_since_timestamp_seconds{{{OF_NAMESPACES}}}"
ROLLING = f"dynamo_operator_graph_rolling_update_start_timestamp_seconds{{{OF_NAMESPACES}}}"
MISSING = f"dynamo_operator_graph_missing_replicas{{{OF_NAMESPACES}}}"
DESIRED = f"dynamo_operator_graph_desired_replicas{{{OF_NAMESPACES}}}"

GRAPHS_AND_CAUSES = Dashboard(
    uid="dynamo-graphs",
    title="Dynamo Graphs",
    description="Which graphs are not ready and why, roll-outs, lost capacity, and the health of the operator.",
    file="graphs-dashboard.json",
    variables={"namespace": "label_values(dynamo_operator_resources_total, namespace)"},
    panels=(
        Row("Graphs"),
        Panel(
            "Graphs That Are Not Ready",
            "The number of graphs whose condition Ready is not True.",
            {"not ready": f"count({NOT_READY}) or vector(0)"},
            kind="stat",
            width=4,
        ),
        Panel(
            "Graphs by State",
            "Graphs by status.state.",
            {"{{status}}": f"sum by (status) (dynamo_operator_resources_total{{{GRAPHS}}})"},
            width=8,
        ),
        Panel(
            "Reasons",
            "Graphs that are not ready by the reason of the condition Ready.",
            {"{{reason}}": f"count by (reason) ({NOT_READY})"},
        ),
        Panel(
            "Not Ready, Since and Why",
            "How long each graph has not been ready, and the reason of the condition Ready. "
            "`kubectl get dgd NAME -o yaml` shows the message.",
            {"": f"sort_desc(time() - max by (namespace, name, reason) ({NOT_READY}))"},
            kind="table",
            unit="s",
            width=24,
        ),
        Row("Roll-outs"),
        Panel(
            "Longest Rolling Update",
            "The age of the oldest rolling update that has not completed.",
            {"age": f"max(time() - {ROLLING}) or vector(0)"},
            kind="stat",
            unit="s",
            width=8,
        ),
        Panel(
            "Rolling Updates",
            "The age and phase of each rolling update that has not completed.",
            {"": f"sort_desc(time() - max by (namespace, name, phase) ({ROLLING}))"},
            kind="table",
            unit="s",
            width=16,
        ),
        Row("Capacity"),
        Panel(
            "Lost Capacity",
            "The share of the desired replicas that are not ready.",
            {"lost": f"sum({MISSING}) / (sum({DESIRED}) > 0)"},
            kind="stat",
            unit="percentunit",
            width=8,
        ),
        Panel(
            "Missing Replicas",
            "Replicas of services that are not ready, by namespace, and how many there should be.",
            {
                "{{namespace}} missing": f"sum by (namespace) ({MISSING})",
                "{{namespace}} desired": f"sum by (namespace) ({DESIRED})",
            },
            width=16,
        ),
        Row("Admission"),
        Panel(
            "Validation Latency",
            "Duration of validation requests of all kinds.",
            {
                f"P{q * 100:g}": f"histogram_quantile({q}, sum by (le) (rate(dynamo_operator_webhook_duration_seconds_bucket[5m])))"
                for q in (0.5, 0.95, 0.99)
            },
            unit="s",
        ),
        Panel(
            "Requests Slower Than 1 s",
            "The share of requests that took longer than 1 s, by path: defaults, validation, conversion.",
            {
                "{{webhook}}": '1 - sum by (webhook) (rate(controller_runtime_webhook_latency_seconds_bucket{le="1"}[5m])) '
                "/ sum by (webhook) (rate(controller_runtime_webhook_latency_seconds_count[5m]))"
            },
            unit="percentunit",
        ),
        Panel(
            "Denials by Rule",
            "Errors in denied objects in the last hour. `kubectl dynamo rules` explains each rule.",
            {"": "sort_desc(sum by (rule) (increase(dynamo_webhook_rule_denials_total[1h])) > 0)"},
            kind="table",
        ),
        Panel(
            "Denials by Kind",
            "Denied requests per second by kind and reason. Reasons without denials are left out.",
            {
                "{{resource_type}} {{reason}}": "sum by (resource_type, reason) "
                "(rate(dynamo_operator_webhook_denials_total[5m])) > 0"
            },
            unit="reqps",
        ),
        Panel(
            "Conversions",
            "Converted objects and failed ConversionReviews per second.",
            {
                "objects": "sum(rate(dynamo_webhook_conversion_objects_total[5m]))",
                "failures": "sum(rate(dynamo_webhook_conversion_failures_total[5m]))",
            },
            unit="ops",
        ),
        Panel(
            "Webhook Pods",
            "Webhook processes that are ready.",
            {"ready": "sum(dynamo_webhook_ready)"},
        ),
        Row("Certificates"),
        Panel(
            "Time Until the End of Validity",
            "Of the certificate that each webhook process serves, and of those in the Secret. 0: there is none.",
            {
                "served by {{instance}}": "(dynamo_webhook_certificate_expiration_timestamp_seconds > 0) - time()",
                "Secret: {{certificate}}": "max by (certificate) "
                "(dynamo_operator_webhook_certificate_expiration_timestamp_seconds > 0) - time()",
            },
            unit="s",
        ),
        Panel(
            "Invalid Certificate Files",
            "How often webhook processes found invalid files in the last hour.",
            {"{{instance}}": "increase(certwatcher_read_certificate_errors_total[1h])"},
        ),
        Row("Controller"),
        Panel(
            "Queue Depth",
            "Objects that wait for a reconcile, by kind.",
            {"{{name}}": "sum by (name) (workqueue_depth)"},
        ),
        Panel(
            "Time in the Queue (P95)",
            "95 of 100 objects waited at most this time for a reconcile.",
            {"{{name}}": quantile(0.95, "workqueue_queue_duration_seconds", "", "name")},
            unit="s",
        ),
        Panel(
            "Longest Reconcile Now",
            "The age of the oldest reconcile that has not ended, by kind.",
            {"{{name}}": "max by (name) (workqueue_longest_running_processor_seconds)"},
            unit="s",
        ),
        Panel(
            "Leader",
            "1 for the controller that leads. Without leader election there is no series.",
            {"{{name}} {{instance}}": "leader_election_master_status"},
        ),
        Panel(
            "Reconcile Errors",
            "Failed reconciles per second by kind.",
            {"{{controller}}": "sum by (controller) (rate(controller_runtime_reconcile_errors_total[5m]))"},
            unit="ops",
        ),
        Panel(
            "Requests to the API Server",
            "Requests per second by status code.",
            {"{{code}}": "sum by (code) (rate(rest_client_requests_total[5m]))"},
            unit="reqps",
        ),
    ),
)

DASHBOARDS = (OPERATOR, GRAPHS_AND_CAUSES)
