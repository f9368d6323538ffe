"""Adapters (DynamoModel) in workers of the real runtime: loaded, loaded again, not downloaded, loaded into pods that join or
crash, unloaded. The worker is worker.py: system port, downloader, registration and discovery are those of ai-dynamo, the engine
is not. `run --only lora` plays the steps one after the other on one graph; TITLES has the other settings."""

import re
import time

import model
import scenarios
from adapters import CONFIG_MAPS, GIVEN, LATE, MODELS, NAME, PATIENCE, PORT, SLOW_SECONDS, Adapters, Setting, adapter, files, graph
from bucket import BUCKET
from places import GRAPHS, NAMESPACE
from serving import Load
from timeline import Timeline, clock

TITLE = "lora"
# The first is played without a name.
TITLES = {
    TITLE: Setting(),
    "lora, etcd": Setting(discovery="etcd"),
    "lora 1.6.1": Setting("1.6.1"),
    "lora 1.6.1, etcd": Setting("1.6.1", "etcd"),
}
REST_SECONDS = 3.0
AROUND_SECONDS = 5  # of the timeline that is printed, before a step that failed
# Of a request to a pod, and of all requests for a deletion (decision ctl-Q83).
CALL_SECONDS, DELETION_SECONDS = 15, 30
# A frontend of 1.0.0 has chosen a worker that discovery removes at this moment.
LOST_IN_FRONTEND = "not found in available instances"
ROW = "{:<44} {:>7}"


# Each step begins where the one before it has ended.


def first_load(on):
    """Models that exist before their pods."""
    on.cluster.api("POST", CONFIG_MAPS, files())
    base = adapter("base", model.NAME, None)
    base["spec"] = {"baseModelName": model.NAME, "modelName": model.NAME}
    for one in (base, adapter("fox", "fox", f"file://{GIVEN}"), adapter("owl", "org/owl", f"file://{GIVEN}")):
        on.cluster.api("POST", MODELS, one)
    on.until("no pod serves the model", lambda: on.reason("fox") == "NoEndpoints")
    on.check("ServicesFound", on.condition("fox", "ServicesFound").get("reason"), "NoServicesFound")
    on.cluster.api("POST", GRAPHS, graph(on.setting))
    on.plane.wait_until_settled(NAME, {"Frontend": 1, "Worker": 2}, 2 * PATIENCE, 0)
    for name in ("fox", "owl"):
        on.until(f"{name} is loaded", lambda name=name: on.counts(name) == (2, 2))
        on.check(f"reason of {name}", on.reason(name), "AllEndpointsReady")
        pods = {pod: f"http://{address}:{PORT}" for pod, address in on.addresses().items()}
        told = {one["podName"]: one["address"] for one in on.status(name)["endpoints"] if one["ready"]}
        on.check(f"status.endpoints of {name}", told, pods)
    on.check("the base model", (on.reason("base"), on.counts("base")), ("EndpointsDiscovered", (0, 2)))
    on.until("the frontend lists them", lambda: on.served() == {model.NAME, "fox", "org/owl"})
    on.check("the chats", [on.chat(one) for one in (model.NAME, "fox", "org/owl")], [200] * 3)
    on.check_loads("fox", 1)
    on.check_loads("org/owl", 1)
    if ("Normal", "EndpointsReady") not in on.events("fox"):
        on.problem(f"adapters: Events of fox: {on.events('fox')}")


def second_load(on):
    """A second model with the same adapter: the workers are asked again, and it stays when the second one goes (ctl-Q84)."""
    on.cluster.api("POST", MODELS, adapter("twin", "fox", f"file://{GIVEN}"))
    on.until("the twin is ready", lambda: on.counts("twin") == (2, 2))
    on.check_loads("fox", 2)
    on.delete("twin")
    on.check("adapters of the pods", on.loaded(), [{"fox", "org/owl"}] * 2)
    on.check("the chat", on.chat("fox"), 200)


def late_download(on):
    """What fails in one pod is tried again there, without a change of the model."""
    on.cluster.api("POST", MODELS, adapter("late", "late", f"file://{LATE}/adapter"))
    on.until("it fails", lambda: on.reason("late") == "NotReady")
    told(on, "late", f"Local LoRA not found: file://{LATE}/adapter")
    first, second = on.addresses()
    on.copy_adapter(first)
    on.until("one pod has it", lambda: on.counts("late") == (1, 2))
    message = on.condition("late")["message"]
    if f"pod {second}: " not in message or f"pod {first}: " in message:
        on.problem(f"adapters: the message is {message!r}")
    on.copy_adapter(second)
    on.until("the frontend lists it", lambda: "late" in on.served())
    on.check("chats", [on.chat("late") for _ in range(6)], [200] * 6)
    on.until("both have it", lambda: on.counts("late") == (2, 2))
    loads = [len(re.findall(r"LoRA loaded successfully: late(?: |$)", on.log(pod), re.M)) for pod in (first, second)]
    on.check("loads that succeeded", loads, [1, 1])
    on.delete("late")
    on.until("the frontend forgets it", lambda: "late" not in on.served())


def failing_download(on):
    """The model tells the words of the runtime until it has another source."""
    sources = {"hub": "hf://org/absent", "far": f"s3://{BUCKET}/absent"}
    for name, uri in sources.items():
        on.cluster.api("POST", MODELS, adapter(name, name, uri))
    for name, uri in sources.items():
        on.until(f"{name} fails", lambda name=name: on.reason(name) == "NotReady")
        # Later versions have a source for hf://, which asks no other machine here.
        is_offline = name == "hub" and on.setting.version != "1.0.0"
        told(on, name, "HF_HUB_OFFLINE is enabled" if is_offline else f"LoRA {uri} not found in any source")
        on.until("Events tell it", lambda name=name: ("Warning", "PartialEndpointFailure") in on.events(name))
    printed, message = on.cluster.kubectl("get", "dm", "hub", "-n", NAMESPACE).stdout, on.condition("hub")["message"]
    if message not in printed:
        on.problem(f"adapters: kubectl get prints {printed!r} instead of {message!r}")
    on.check("models", on.served(), {model.NAME, "fox", "org/owl"})
    patch = {"spec": {"source": {"uri": f"file://{GIVEN}"}}}
    on.cluster.api("PATCH", f"{MODELS}/hub", patch, "application/merge-patch+json")
    on.until("another source helps", lambda: on.counts("hub") == (2, 2))
    on.delete("far")
    on.check("adapters of the pods", on.loaded(), [{"fox", "org/owl", "hub"}] * 2)


def told(on, name, text):
    """The condition says that all pods have failed, and why."""
    on.check(f"counts of {name}", on.counts(name), (0, 2))
    message = on.condition(name)["message"]
    words = f"answered 500: Failed to download LoRA: Download failed: {text}"
    if not all(f"pod {pod}: {words}" in message for pod in on.addresses()):
        on.problem(f"adapters: the message of {name} is {message!r}")


def object_storage(on):
    """The downloader for s3:// is another one than that of folders."""
    on.cluster.api("POST", MODELS, adapter("quick", "quick", f"s3://{BUCKET}/quick"))
    on.until("it is loaded", lambda: on.counts("quick") == (2, 2))
    on.check_loads("quick", 1)
    on.check("downloads", ["Downloaded 2 files from S3" in on.log(pod) for pod in on.addresses()], [True] * 2)
    on.until("the frontend lists it", lambda: "quick" in on.served())
    on.delete("quick")


def pod_joins(on):
    """A pod has the adapters before it counts as ready for them."""
    before = set(on.addresses())
    asked = {pod: on.asked(pod) for pod in before}
    on.plane.patch(NAME, {"services": {"Worker": {"replicas": 3}}})
    on.wait_for_all(3)
    on.check("requests to the others", {pod: on.asked(pod) for pod in before}, asked)
    (joined,) = set(on.addresses()) - before
    on.check(f"loads of {joined}", [on.loads(joined, name) for name in ("fox", "org/owl", "hub")], [1] * 3)


def pod_crashes(on):
    """The adapters of the new container are loaded again, and only those."""
    pod, *others = on.addresses()
    asked = {one: on.asked(one) for one in others}
    begin = time.time()
    on.signal(pod, "SIGKILL")
    on.until("its container is started again", lambda: on.main_status(pod)["restartCount"] == 1)
    on.until("its runtime serves", lambda: on.adapters_of(pod) >= {"fox", "org/owl", "hub"})
    on.wait_for_all(3)
    changes = on.timeline.between(begin, time.time())
    stopped = [text for _, _, about, text in changes if about == pod and "terminated" in text]
    said = [text for _, _, about, text in changes if about == "fox" and text.startswith("2 of 3 ") and f"pod {pod}: " in text]
    if stopped and not said:
        on.problem(f"adapters: the model does not tell that {pod} has lost its adapter")
    on.check("restarts", on.main_status(pod)["restartCount"], 1)
    on.check("requests to the others", {one: on.asked(one) for one in others}, asked)
    on.check("loads", [on.loads(pod, name) for name in ("fox", "org/owl", "hub")], [1] * 3)
    # The frontend hears of the new process when the pod is ready. Until then it may choose the former one, and answers 500.
    on.plane.wait_until_settled(NAME, {"Frontend": 1, "Worker": 3}, PATIENCE)
    chats = lambda: [on.chat("fox") for _ in range(6)]  # noqa: E731
    if on.setting.discovery == "etcd":  # it lists the former process until the lease of this one ends
        on.until("chats succeed", lambda: chats() == [200] * 6)
    on.check("chats", chats(), [200] * 6)


def slow_download(on):
    """The runtime goes on when the controller no longer waits, and answers a later request."""
    count = len(on.addresses())
    begin = time.monotonic()
    on.cluster.api("POST", MODELS, adapter("slow", "slow", f"s3://{BUCKET}/slow"))
    on.until("it is told", lambda: on.condition("slow").get("message", "").count("arrived in time") == count)
    on.until("it is loaded", lambda: on.counts("slow") == (count, count))
    seconds = time.monotonic() - begin
    if not CALL_SECONDS + 1 < seconds < 2 * SLOW_SECONDS + 2 * CALL_SECONDS:
        on.problem(f"adapters: a slow download took {seconds:.1f} s")
    downloads = [on.log(pod).count(f"bucket={BUCKET}, prefix=slow") for pod in on.addresses()]
    on.check("downloads", downloads, [1] * count)
    on.delete("slow")


def rolling_update(on):
    """While its three workers are replaced, no request for an adapter fails but those that the frontend loses."""
    load = Load(on.cluster.node, on.plane.address(NAME), "fox", on.folder / "requests")
    try:
        time.sleep(REST_SECONDS)
        scenarios.update("Worker")(on.plane, NAME)
        on.plane.wait_until_settled(NAME, {"Frontend": 1, "Worker": 3}, 2 * PATIENCE)
        on.wait_for_all(3)
    finally:
        load.stop()
    failed = [one for one in load.records if "error" in one]
    lost = [one for one in failed if LOST_IN_FRONTEND in one["error"]]
    print(f"adapters: {len(load.records)} requests in a rolling update, {len(failed)} failed", flush=True)
    if len(failed) > len(lost) or len(lost) > 3:
        on.problem(f"adapters: {len(failed)} of {len(load.records)} requests failed, such as {failed[:3]}")


def controller_is_killed(on):
    """The next one asks each pod once, which has the adapter, and writes nothing."""
    version, asked = on.get("fox")["metadata"]["resourceVersion"], {pod: on.loads(pod, "fox") for pod in on.addresses()}
    scenarios.kill_controller(on.plane, NAME)
    again = {pod: count + 1 for pod, count in asked.items()}
    on.until("all are asked again", lambda: {pod: on.loads(pod, "fox") for pod in asked} == again)
    on.check("the version of the model", on.get("fox")["metadata"]["resourceVersion"], version)


def worker_without_adapters(on):
    """The message names what its component lacks (ctl-Q87)."""
    made = graph(on.setting)
    made["metadata"]["name"] = "plain"
    worker = made["spec"]["services"]["Worker"]
    worker |= {"replicas": 1, "modelRef": {"name": "plain"}, "envs": []}
    made["spec"]["services"] = {"Worker": worker}
    on.cluster.api("POST", GRAPHS, made)
    asked = adapter("plain", "plain", f"file://{GIVEN}")
    asked["spec"]["baseModelName"] = "plain"
    on.cluster.api("POST", MODELS, asked)
    on.until("it is told", lambda: "only with DYN_LORA_ENABLED=true" in on.condition("plain").get("message", ""))
    on.delete("plain")
    if left := scenarios.delete(on.plane, "plain"):
        on.problem(f"adapters: left after the deletion of a graph: {left}")


def unload(on):
    """From all pods, when the model is deleted; the other adapters stay."""
    on.delete("hub")
    on.check("adapters of the pods", on.loaded(), [{"fox", "org/owl"}] * 3)
    on.until("the frontend forgets it", lambda: on.served() == {model.NAME, "fox", "org/owl"})
    on.check("the chat", on.chat("hub"), 404)
    on.until("Events tell it", lambda: ("Normal", "LoRAUnloaded") in on.events("hub"))


def unload_of_what_is_not_loaded(on):
    """The runtime answers 500 with "not found", which is success (ctl-Q83)."""
    pod, *_ = on.addresses()
    path = "/v1/loras/org/owl"
    answers = [on.ask(pod, "DELETE", path)[0], on.ask(pod, "DELETE", path)]
    if answers[0] != 200 or answers[1][0] != 500 or "not found" not in answers[1][1]:
        on.problem(f"adapters: a pod answers {answers}")
    on.delete("owl")
    on.check("adapters of the pods", on.loaded(), [{"fox"}] * 3)
    on.until("an Event tells it", lambda: ("Normal", "LoRAUnloaded") in on.events("owl"))
    on.until("the frontend forgets it", lambda: on.served() == {model.NAME, "fox"})


def deletion_with_a_dead_pod(on):
    """A process that is stopped accepts connections and answers nothing."""
    pod, *others = on.addresses()
    on.signal(pod, "SIGSTOP")
    try:
        seconds = on.delete("fox")
    finally:
        on.signal(pod, "SIGCONT")
    if not CALL_SECONDS - 1 < seconds < DELETION_SECONDS + 5:
        on.problem(f"adapters: a deletion with a dead pod took {seconds:.1f} s")
    on.check("adapters of the others", [on.adapters_of(one) for one in others], [set()] * 2)
    on.until("an Event tells it", lambda: ("Warning", "LoRAUnloadFailed") in on.events("fox"))
    about = [one["message"] for one in on.all_events("fox") if one["reason"] == "LoRAUnloadFailed"]
    if len(about) != 1 or f"from 1 of 3 endpoint(s): pod {pod}: " not in about[0]:
        on.problem(f"adapters: Events about the deletion: {about}")


def graph_is_deleted(on):
    if left := scenarios.delete(on.plane, NAME):
        on.problem(f"adapters: left after the deletion of the graph: {left}")
    on.until("no pod serves the base model", lambda: (on.reason("base"), on.counts("base")) == ("NoEndpoints", (0, 0)))


STEPS = [first_load, second_load, late_download, failing_download, object_storage, pod_joins, pod_crashes]
LONG = [slow_download, worker_without_adapters, rolling_update, controller_is_killed]
LAST = [unload, unload_of_what_is_not_loaded, deletion_with_a_dead_pod, graph_is_deleted]


def play(plane, setting, folder, long, problem):
    """Plays the steps on a RuntimePlane with the image of the setting. `long`: also those of --full. `problem` is called with what
    must not be."""
    folder.mkdir(parents=True, exist_ok=True)
    problems = []

    def note(text):
        problems.append(text)
        problem(text)

    timeline = Timeline(plane.cluster, NAMESPACE, folder / "pods")
    timeline.start()
    on = Adapters(plane, setting, folder, timeline, note)
    try:
        for step in [*STEPS, *(LONG if long else []), *LAST]:
            begin, before = time.time(), len(problems)
            title = step.__name__.replace("_", " ")
            try:
                step(on)
            except Exception as error:  # noqa: BLE001  (the others are played, too)
                note(f"adapters, {title}: {type(error).__name__}: {error}; {on.describe()}")
            print(ROW.format(f"adapters: {title}", f"{time.time() - begin:.1f} s"), flush=True)
            if len(problems) > before:
                for at, kind, about, text in timeline.between(begin - AROUND_SECONDS, time.time()):
                    print(f"      {clock(at)} {kind}/{about}: {text}", flush=True)
            on.keep(title)
    finally:
        on.close()
        timeline.stop()
