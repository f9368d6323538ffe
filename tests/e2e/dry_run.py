"""`kubectl create --dry-run=server` without a process: one request to the API server, and what kubectl prints about the answer.
A kubectl takes a quarter of a second of processor time. test_mistakes.py compares both."""

from requests import ApiError

RESOURCES = {
    ("nvidia.com/v1alpha1", "DynamoGraphDeployment"): "dynamographdeployments",
    ("nvidia.com/v1alpha1", "DynamoComponentDeployment"): "dynamocomponentdeployments",
    ("nvidia.com/v1alpha1", "DynamoGraphDeploymentScalingAdapter"): "dynamographdeploymentscalingadapters",
    ("nvidia.com/v1alpha1", "DynamoGraphDeploymentRequest"): "dynamographdeploymentrequests",
    ("nvidia.com/v1beta1", "DynamoGraphDeploymentRequest"): "dynamographdeploymentrequests",
    ("nvidia.com/v1alpha1", "DynamoModel"): "dynamomodels",
    ("nvidia.com/v1alpha1", "DynamoCheckpoint"): "dynamocheckpoints",
}


def type_of(made):
    return (made.get("apiVersion"), made.get("kind")) if isinstance(made, dict) else None


def reaches_the_server(made):
    """Whether kubectl sends the object. It refuses others by itself."""
    if type_of(made) not in RESOURCES:
        return False
    metadata = made.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or "namespace" in metadata:
        return False
    texts = [metadata.get("labels") or {}, metadata.get("annotations") or {}]
    return all(isinstance(each, dict) and all(isinstance(value, str) for value in each.values()) for each in texts)


def lines_of(status):
    """What kubectl prints about a Status that is a failure."""
    details = status.get("details", {})
    if status.get("reason") != "Invalid":
        reason = f" ({status['reason']})" if status.get("reason") else ""
        return f'Error from server{reason}: error when creating "STDIN": {status["message"]}'.split("\n")
    causes = dict.fromkeys(f"{cause.get('field', '')}: {cause['message']}" for cause in details.get("causes", []))
    head = f'The {details.get("kind", "")} "{details.get("name", "")}" is invalid: '
    if len(causes) == 1:
        return [head + next(iter(causes))]
    return [head, *(f"* {cause}" for cause in causes)]


def create(plane, namespace, made):
    """Returns whether the object is admitted, and the lines that kubectl prints to standard error. Nothing is stored."""
    path = f"/apis/{made['apiVersion']}/namespaces/{namespace}/{RESOURCES[type_of(made)]}"
    warnings, refused = [], []
    try:
        plane.api("POST", f"{path}?dryRun=All&fieldManager=kubectl-create&fieldValidation=Strict", made, timeout=60, warnings=warnings)
    except ApiError as error:
        refused = lines_of(error.body)
    return not refused, [f"Warning: {each}" for each in warnings] + refused
