"""A cluster-wide operator and one that is restricted to a namespace, on one control plane. Both are installed as in deploy/kustomize
(base and restricted), each with its own webhook, account and configuration. The audit log says which of them writes."""

import contextlib
import datetime
import sys
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lib")]
import install as installation  # noqa: E402
from control_plane import ApiError, ControlPlane  # noqa: E402
from operator_plane import AuditLog, Objects, described, received  # noqa: E402

TEAM, OTHER, CENTRAL = "team-a", "other-a", "dynamo-system"
ACCOUNT = "dynamo-operator-controller-manager"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
LEASE = "dynamo-operator-namespace-scope"
LEASE_SECONDS, RENEW_SECONDS = 4, 1


def user_of(namespace):
    return f"system:serviceaccount:{namespace}:{ACCOUNT}"


class HybridPlane(Objects):
    """A control plane with both installations. `settings`: further settings of both. Attributes: cluster, audit, central, restricted
    and standby (controllers; the last two are two replicas)."""

    def __init__(self, kwok_config=None, settings=None):
        self._settings = settings or {}
        self._running = contextlib.ExitStack()
        try:
            self.audit = AuditLog(self._running.enter_context(tempfile.TemporaryDirectory()))
            self.cluster = self._running.enter_context(ControlPlane(apiserver_flags=self.audit.flags, kwok_config=kwok_config))
            self.cluster.add_nodes(4, gpus=64, cpu=512)
            for name in (TEAM, OTHER):
                self.cluster.create_namespace(name)
            webhook = self._webhook(CENTRAL)
            installation.install(self.cluster, webhook)
            installation.apply(self.cluster, self._webhook(TEAM), installation.RESTRICTED)
            self._leave_out_team()
            self.cluster.wait_for_garbage_collector()
            self.central = self._controller(CENTRAL, {})
            scope = {"leaseDuration": f"{LEASE_SECONDS}s", "leaseRenewInterval": f"{RENEW_SECONDS}s"}
            self.restricted = self._controller(TEAM, scope)
            self.standby = self._controller(TEAM, scope, "standby")
        except BaseException:
            self._running.close()
            raise

    def close(self):
        self._running.close()

    def _webhook(self, namespace):
        directory = self.cluster.directory / f"webhook-{namespace}"
        directory.mkdir()
        made = installation.Webhook(directory, account=f"{namespace}/{ACCOUNT}")
        self._running.callback(made.stop)
        made.start()
        return made

    def _controller(self, namespace, scope, name="controller"):
        config = yaml.safe_load(installation.installed_config(self.cluster, namespace)) | self._settings
        if scope:
            config["namespace"]["scope"].update(scope)
        account = f"{namespace}/{ACCOUNT}"
        made = installation.Controller(self.cluster, yaml.safe_dump(config), name=f"{name}-{namespace}", account=account)
        self._running.callback(made.stop)
        return made

    def _leave_out_team(self):
        """The controller writes these selectors only to webhooks with a Service; here they have URLs."""
        expression = {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": [TEAM]}
        for kind in ("mutating", "validating"):
            path = f"{WEBHOOKS}/{kind}webhookconfigurations/dynamo-operator-{kind}"
            found = self.cluster.api("GET", path)
            for webhook in found["webhooks"]:
                webhook["namespaceSelector"] = {"matchExpressions": [expression]}
            self.cluster.api("PUT", path, found)

    def writes(self, namespace, user=None):
        """The writes of the controllers in the namespace, without those of their own Secret and ConfigMap."""
        users = [user] if user else [user_of(CENTRAL), user_of(TEAM)]
        found = [one for one in self.audit.entries() if one["user"]["username"] in users]
        found = [one for one in found if not one["objectRef"].get("name", "").startswith(("dynamo-operator-", "webhook-server-cert"))]
        return [one for one in found if one["objectRef"].get("namespace") == namespace and 200 <= status_of(one) < 300]

    def lease(self):
        try:
            return self.cluster.api("GET", f"/apis/coordination.k8s.io/v1/namespaces/{TEAM}/leases/{LEASE}")
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def turns(self, test):
        """[(namespace of the controller, its writes)] about TEAM, in their order. Fails if two controllers wrote at the same time."""
        turns = []
        for one in sorted(self.writes(TEAM), key=began):
            user = one["user"]["username"].split(":")[2]
            if not turns or turns[-1][0] != user:
                turns.append((user, []))
            turns[-1][1].append(one)
        shown = "\n".join(f"{user}: {described(each[0])} .. {described(each[-1])}" for user, each in turns)
        for (_, before), (_, after) in zip(turns, turns[1:]):
            test.assertLess(max(map(ended, before)), min(map(began, after)), shown)
        print("  writes per turn: " + ", ".join(f"{user} {len(each)}" for user, each in turns), file=sys.stderr)
        test.assertEqual(self.writes(OTHER, user_of(TEAM)), [], "writes of the restricted controller in another namespace")
        return turns


def status_of(entry):
    return entry["responseStatus"]["code"]


def began(entry):
    return received(entry).timestamp()


def ended(entry):
    return datetime.datetime.fromisoformat(entry["stageTimestamp"].replace("Z", "+00:00")).timestamp()
