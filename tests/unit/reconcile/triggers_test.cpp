// Who is reconciled after which change.
#include "controller/reconcile/triggers.h"

#include "common/lifecycle/object.h"
#include "reconcile_support.h"

namespace dynamo::controller::test {
namespace {

enum class How { Seen, SeenDeleted, Written, Deleted };

struct Row {
  const char* about;
  std::vector<std::string> stored;  ///< the cache before the change
  How how;
  std::string object;
  const char* writer;
  const char* triggered;  ///< namesOf the keys
};

/// An object of API version `version`. `rest` follows the name in the metadata, `tail` the metadata.
std::string object(const std::string& version, const std::string& kind, const std::string& name,
                   const std::string& rest = "", const std::string& tail = "", const char* revision = "2") {
  return "{'apiVersion':'" + version + "','kind':'" + kind + "','metadata':{'namespace':'n','name':'" + name +
         "','uid':'uid-" + kind + "-" + name + "','resourceVersion':'" + revision + "'" + rest + "}" + tail +
         "}";
}

const std::string kOurs = "nvidia.com/v1alpha1";
const std::string kGraphKind = "DynamoGraphDeployment";
const std::string kComponentKind = "DynamoComponentDeployment";
const std::string kAdapterKind = "DynamoGraphDeploymentScalingAdapter";

std::string graph(const std::string& name, const std::string& tail = ",'spec':{'services':{}}",
                  const std::string& rest = ",'generation':1") {
  return object(kOurs, kGraphKind, name, rest, tail);
}
std::string newer(const std::string& tail = ",'spec':{'services':{}}",
                  const std::string& rest = ",'generation':1") {
  return object(kOurs, kGraphKind, "g", rest, tail, "9");
}
std::string labelled(const std::string& labels) {
  return ",'labels':{" + labels + "}";
}
std::string ofGraph(const std::string& name) {
  return "'nvidia.com/dynamo-graph-deployment-name':'" + name + "'";
}
std::string ofComponent(const std::string& name) {
  return "'nvidia.com/dynamo-component':'" + name + "'";
}
std::string component(const std::string& name, const std::string& service = "web") {
  return object(kOurs, kComponentKind, name, labelled(ofGraph("g")),
                ",'spec':{'serviceName':'" + service + "'}");
}
std::string adapter(const std::string& name, const std::string& ofWhich = "g") {
  return object(kOurs, kAdapterKind, name, labelled(ofGraph(ofWhich)));
}
std::string modelOf(const std::string& name, const std::string& base = "Qwen/Qwen3-0.6B",
                    const char* revision = "2") {
  return object(kOurs, "DynamoModel", name, "",
                ",'spec':{'modelName':'m','baseModelName':'" + base + "','modelType':'lora'}", revision);
}
std::string ofModel(const std::string& hash) {
  return "'nvidia.com/dynamo-base-model-hash':'" + hash + "'";
}
std::string sliceOf(const std::string& hash, const char* revision = "2") {
  return object("discovery.k8s.io/v1", "EndpointSlice", "s", labelled(ofModel(hash)), ",'endpoints':[]",
                revision);
}
std::string podOfModel(int restarts, const char* revision = "2", const std::string& status = "") {
  return object("v1", "Pod", "p", labelled(ofGraph("g") + "," + ofModel("fb68f5a6")),
                ",'status':{" + status +
                    "'containerStatuses':[{'name':'main','restartCount':" + std::to_string(restarts) + "}]}",
                revision);
}
std::string ownedBy(const std::string& kind, const std::string& name) {
  return ",'ownerReferences':[{'apiVersion':'nvidia.com/v1alpha1','kind':'" + kind + "','name':'" + name +
         "','uid':'uid-" + kind + "-" + name + "','controller':true}]";
}
std::string deployment(const std::string& owners, const char* revision = "2") {
  return object("apps/v1", "Deployment", "d", labelled(ofComponent("web")) + owners, "", revision);
}
std::string pod(const std::string& labels) {
  return object("v1", "Pod", "p", labelled(labels), ",'status':{'phase':'Running'}");
}
std::string claim(const std::string& name, const std::string& phase, const char* revision = "2") {
  return object("v1", "PersistentVolumeClaim", name, "", ",'status':{'phase':'" + phase + "'}", revision);
}

std::string setOf(const std::string& owner) {
  return object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", owner + "-0",
                labelled(ofComponent("web")) + ownedBy(kComponentKind, owner));
}
std::string failedCreate(const std::string& statefulSet) {
  return object("v1", "Event", "e", "", ",'involvedObject':{'name':'" + statefulSet + "'}");
}

const std::string kSpec = ",'spec':{'services':{}}";

std::string request(const std::string& name, const std::string& graph = "") {
  return object("nvidia.com/v1beta1", "DynamoGraphDeploymentRequest", name, "",
                ",'spec':{},'status':{'dgdName':'" + graph + "'}");
}
std::string ofRequest(const std::string& name) {
  return "'dgdr.nvidia.com/name':'" + name + "','dgdr.nvidia.com/namespace':'n'";
}
std::string jobOf(const std::string& checkpoint) {
  return object(
      "batch/v1", "Job", "checkpoint-" + checkpoint,
      labelled("'nvidia.com/snapshot-checkpoint-hash':'h'") + ownedBy("DynamoCheckpoint", checkpoint));
}
std::string podOfJob(const std::string& uid) {
  return object("v1", "Pod", "p",
                labelled(ofGraph("g") + ",'batch.kubernetes.io/job-name':'checkpoint-c'") +
                    ",'ownerReferences':[{'uid':'" + uid + "','controller':true}]",
                ",'status':{'phase':'Running'}");
}

std::vector<Row> rows() {
  const std::string claims = ",'spec':{'pvcs':[{'name':'data'}]}";
  const std::string withClaim = graph("g", claims);
  const std::string fromComponent = ownedBy(kComponentKind, "g-web");
  const std::string pclq = object("grove.io/v1alpha1", "PodClique", "g-0-web",
                                  labelled(ofGraph("g")) + ownedBy("PodCliqueSet", "g"));
  return {
      {"a new graph", {}, How::Seen, graph("g"), "", "DynamoGraphDeployment/g"},
      {"a new graph: its adapters wait for it",
       {adapter("g-web"), adapter("other", "h")},
       How::Seen,
       graph("g"),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentScalingAdapter/g-web"},
      {"a new spec",
       {graph("g"), adapter("g-web")},
       How::Seen,
       newer(",'spec':{'services':{'a':{}}}", ",'generation':2"),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentScalingAdapter/g-web"},
      {"a new annotation, which does not change the generation",
       {graph("g"), adapter("g-web")},
       How::Seen,
       newer(",'spec':{'services':{}}", ",'generation':1,'annotations':{'a':'b'}"),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentScalingAdapter/g-web"},
      {"a new label",
       {graph("g"), adapter("g-web")},
       How::Seen,
       newer(",'spec':{'services':{}}", ",'generation':1,'labels':{'a':'b'}"),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentScalingAdapter/g-web"},
      {"somebody else wrote the status of a graph (ctl-Q59): the adapters do not read it",
       {graph("g"), adapter("g-web")},
       How::Seen,
       newer(",'spec':{'services':{}},'status':{'state':'failed'}"),
       "",
       "DynamoGraphDeployment/g"},
      {"a deleted graph",
       {graph("g"), adapter("g-web")},
       How::SeenDeleted,
       newer(),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentScalingAdapter/g-web"},
      {"the graph reconciler wrote the status of its graph",
       {graph("g"), adapter("g-web")},
       How::Written,
       newer(",'spec':{'services':{}},'status':{'state':'failed'}"),
       "DynamoGraphDeployment",
       ""},
      {"an adapter scaled the graph",
       {graph("g"), adapter("g-web")},
       How::Written,
       newer(",'spec':{'services':{'a':{'replicas':3}}}", ",'generation':2"),
       "DynamoGraphDeploymentScalingAdapter",
       "DynamoGraphDeployment/g"},

      {"a new component deployment of a graph",
       {},
       How::Seen,
       object(kOurs, kComponentKind, "c", ownedBy(kGraphKind, "g")),
       "",
       "DynamoComponentDeployment/c DynamoGraphDeployment/g"},
      {"the graph reconciler created a component deployment",
       {},
       How::Written,
       object(kOurs, kComponentKind, "c", ownedBy(kGraphKind, "g")),
       "DynamoGraphDeployment",
       "DynamoComponentDeployment/c"},
      {"the component reconciler wrote the status of its object",
       {object(kOurs, kComponentKind, "c", ownedBy(kGraphKind, "g"))},
       How::Written,
       object(kOurs, kComponentKind, "c", ownedBy(kGraphKind, "g"), ",'status':{'conditions':[]}", "9"),
       "DynamoComponentDeployment",
       "DynamoGraphDeployment/g"},
      {"the graph reconciler deleted a component deployment",
       {object(kOurs, kComponentKind, "c", ownedBy(kGraphKind, "g"))},
       How::Deleted,
       object(kOurs, kComponentKind, "c", ownedBy(kGraphKind, "g")),
       "DynamoGraphDeployment",
       "DynamoComponentDeployment/c"},

      {"the replicas of an adapter",
       {graph("g"), adapter("a")},
       How::Seen,
       object(kOurs, kAdapterKind, "a", labelled(ofGraph("g")) + ownedBy(kGraphKind, "g"),
              ",'spec':{'replicas':3}", "9"),
       "",
       "DynamoGraphDeploymentScalingAdapter/a DynamoGraphDeployment/g"},
      {"the adapter reconciler wrote the status of its object",
       {adapter("a")},
       How::Written,
       object(kOurs, kAdapterKind, "a", labelled(ofGraph("g")), ",'status':{'replicas':3}", "9"),
       "DynamoGraphDeploymentScalingAdapter",
       ""},

      {"a child of a component deployment",
       {},
       How::Seen,
       deployment(fromComponent),
       "",
       "DynamoComponentDeployment/g-web"},
      {"a deleted child",
       {deployment(fromComponent)},
       How::SeenDeleted,
       deployment(fromComponent, "9"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"the component reconciler wrote a child",
       {},
       How::Written,
       deployment(fromComponent),
       "DynamoComponentDeployment",
       ""},
      {"somebody removed the owner reference of a child",
       {deployment(fromComponent)},
       How::Seen,
       deployment("", "9"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"somebody removed the label of a child, and the watch reports that as a deletion",
       {deployment(fromComponent)},
       How::SeenDeleted,
       object("apps/v1", "Deployment", "d", fromComponent, "", "9"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"a child with a foreign owner", {}, How::Seen, deployment(ownedBy("StatefulSet", "x")), "", ""},
      {"an object that two graphs share",
       {},
       How::Seen,
       object(
           "v1", "ServiceAccount", "s",
           labelled("'app.kubernetes.io/managed-by':'dynamo-operator'") +
               ",'ownerReferences':[{'kind':'DynamoGraphDeployment','name':'g','uid':'1','controller':true},"
               "{'kind':'DynamoGraphDeployment','name':'h','uid':'2'}]"),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeployment/h"},

      {"a pod of a Deployment: the selector label names its component deployment",
       {component("g-web"), component("g-db", "db")},
       How::Seen,
       pod(ofGraph("g") + "," + ofComponent("web") + ",'nvidia.com/selector':'g-web'"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"a pod of a LeaderWorkerSet: found by graph and component",
       {component("g-web"), component("g-db", "db")},
       How::Seen,
       pod(ofGraph("g") + "," + ofComponent("web") + ",'nvidia.com/selector':'g-web-0'"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"a pod of Grove: no component deployment exists",
       {graph("g")},
       How::Seen,
       pod(ofGraph("g") + "," + ofComponent("web")),
       "",
       "DynamoGraphDeployment/g"},
      {"a pod of a component deployment without a graph",
       {object(kOurs, kComponentKind, "web", "", ",'spec':{}")},
       How::Seen,
       pod(ofComponent("web") + ",'nvidia.com/selector':'web'"),
       "",
       "DynamoComponentDeployment/web"},
      {"a pod of a LeaderWorkerSet of a component deployment without a graph",
       {object(kOurs, kComponentKind, "web", "", ",'spec':{}")},
       How::Seen,
       pod(ofGraph("web") + "," + ofComponent("web")),
       "",
       "DynamoComponentDeployment/web"},
      {"a pod of a graph with a service that has the name of a component deployment without a graph",
       {object(kOurs, kComponentKind, "web", "", ",'spec':{}"), component("g-web")},
       How::Seen,
       pod(ofGraph("g") + "," + ofComponent("web")),
       "",
       "DynamoComponentDeployment/g-web"},
      {"a deleted pod",
       {component("g-web"), pod(ofGraph("g") + "," + ofComponent("web"))},
       How::SeenDeleted,
       pod(ofGraph("g") + "," + ofComponent("web")),
       "",
       "DynamoGraphDeployment/g DynamoComponentDeployment/g-web"},
      {"a pod that ended",
       {component("g-web")},
       How::Seen,
       object("v1", "Pod", "p", labelled(ofGraph("g") + "," + ofComponent("web")),
              ",'status':{'phase':'Failed'}"),
       "",
       "DynamoGraphDeployment/g DynamoComponentDeployment/g-web"},

      {"a PodClique", {}, How::Seen, pclq, "", "DynamoGraphDeployment/g"},
      {"a PodCliqueSet that the graph reconciler applied",
       {},
       How::Written,
       object("grove.io/v1alpha1", "PodCliqueSet", "g", ownedBy(kGraphKind, "g")),
       "DynamoGraphDeployment",
       ""},
      {"a PodCliqueScalingGroup without a label of a graph",
       {},
       How::Seen,
       object("grove.io/v1alpha1", "PodCliqueScalingGroup", "g-0-sg", ownedBy("PodCliqueSet", "g")),
       "",
       "DynamoGraphDeployment/g"},

      {"a claim that a graph names",
       {withClaim, graph("h")},
       How::Seen,
       claim("data", "Pending"),
       "",
       "DynamoGraphDeployment/g"},
      {"a claim that a service mounts, which spec.pvcs does not list (dec-1)",
       {graph("g", ",'spec':{'services':{'a':null,'b':{'volumeMounts':[{'name':'x'},{'name':'data'}]}}}"),
        graph("h", ",'spec':{'services':{'a':{'volumeMounts':[{'name':'x'}]}}}")},
       How::Seen,
       claim("data", "Pending"),
       "",
       "DynamoGraphDeployment/g"},
      {"a claim that no graph names", {withClaim}, How::Seen, claim("other", "Pending"), "", ""},
      {"the phase of a claim",
       {withClaim, claim("data", "Pending")},
       How::Seen,
       claim("data", "Bound", "9"),
       "",
       ""},
      {"a claim that the graph reconciler has created for another graph",
       {withClaim, graph("h")},
       How::Written,
       object("v1", "PersistentVolumeClaim", "data", ownedBy(kGraphKind, "h")),
       "DynamoGraphDeployment",
       "DynamoGraphDeployment/g"},
      {"a claim that the graph reconciler has created for the graph",
       {withClaim},
       How::Written,
       object("v1", "PersistentVolumeClaim", "data", ownedBy(kGraphKind, "g")),
       "DynamoGraphDeployment",
       ""},
      {"the graph has created its claim: another graph waits for it",
       {withClaim, graph("h", claims)},
       How::Written,
       object("v1", "PersistentVolumeClaim", "data", ownedBy(kGraphKind, "g")),
       "DynamoGraphDeployment",
       "DynamoGraphDeployment/h"},
      {"a deleted claim that the graph has created",
       {withClaim, graph("h", claims),
        object("v1", "PersistentVolumeClaim", "data", ownedBy(kGraphKind, "g"))},
       How::SeenDeleted,
       object("v1", "PersistentVolumeClaim", "data", ownedBy(kGraphKind, "g")),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeployment/h"},
      {"a deleted claim",
       {withClaim, claim("data", "Bound")},
       How::SeenDeleted,
       claim("data", "Bound", "9"),
       "",
       "DynamoGraphDeployment/g"},

      {"the pod of a leader cannot be created",
       {setOf("g-web"), setOf("g-db")},
       How::Seen,
       failedCreate("g-web-0"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"the pod of a worker cannot be created",
       {setOf("g-web"), setOf("g-db")},
       How::Seen,
       failedCreate("g-web-0-0"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"such an Event has expired",
       {setOf("g-web"), failedCreate("g-web-0")},
       How::SeenDeleted,
       failedCreate("g-web-0"),
       "",
       "DynamoComponentDeployment/g-web"},
      {"the pod of somebody else's StatefulSet cannot be created",
       {setOf("g-web")},
       How::Seen,
       failedCreate("g-web"),
       "",
       ""},

      {"a slice of a base model",
       {modelOf("m"), modelOf("n", "other")},
       How::Seen,
       sliceOf("fb68f5a6"),
       "",
       "DynamoModel/m"},
      {"a slice of no base model here", {modelOf("m")}, How::Seen, sliceOf("00000000"), "", ""},
      {"a slice that goes to another base model",
       {modelOf("m"), sliceOf("fb68f5a6")},
       How::Seen,
       sliceOf("00000000", "9"),
       "",
       "DynamoModel/m"},
      {"a deleted slice",
       {modelOf("m"), sliceOf("fb68f5a6")},
       How::SeenDeleted,
       sliceOf("fb68f5a6", "9"),
       "",
       "DynamoModel/m"},
      {"a container of a pod that serves a base model restarts",
       {modelOf("m"), podOfModel(0)},
       How::Seen,
       podOfModel(1, "9"),
       "",
       "DynamoGraphDeployment/g DynamoModel/m"},
      {"nothing of its container changes",
       {modelOf("m"), podOfModel(0)},
       How::Seen,
       podOfModel(0, "9", "'phase':'Running',"),
       "",
       "DynamoGraphDeployment/g"},
      {"the model itself", {}, How::Seen, modelOf("m"), "", "DynamoModel/m"},
      {"its own write",
       {modelOf("m")},
       How::Written,
       modelOf("m", "Qwen/Qwen3-0.6B", "9"),
       "DynamoModel",
       ""},

      {"a checkpoint: graphs are triggered through facts",
       {graph("g")},
       How::Seen,
       object(kOurs, "DynamoCheckpoint", "c"),
       "",
       "DynamoCheckpoint/c"},
      {"the Job of a checkpoint",
       {object(kOurs, "DynamoCheckpoint", "c")},
       How::Seen,
       jobOf("c"),
       "",
       "DynamoCheckpoint/c"},
      {"a pod of the Job of a checkpoint, with the labels of a graph",
       {graph("g"), jobOf("c")},
       How::Seen,
       podOfJob("uid-Job-checkpoint-c"),
       "",
       "DynamoCheckpoint/c"},
      {"a generated graph",
       {request("r")},
       How::Seen,
       graph("g", kSpec, ",'generation':1" + labelled(ofRequest("r"))),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentRequest/r"},
      {"a graph of a request in another namespace (decision conv-Q2)",
       {},
       How::Seen,
       graph("g", kSpec,
             ",'generation':1" + labelled("'dgdr.nvidia.com/name':'r','dgdr.nvidia.com/namespace':'m'")),
       "",
       "DynamoGraphDeployment/g m/DynamoGraphDeploymentRequest/r"},
      {"a generated graph loses its labels (decision life-Q52)",
       {request("r"), graph("g", kSpec, ",'generation':1" + labelled(ofRequest("r")))},
       How::Seen,
       newer(),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentRequest/r"},
      {"a generated graph without labels has another state",
       {request("r", "g"), request("other", "h"), graph("g")},
       How::Seen,
       newer(kSpec + ",'status':{'state':'failed'}"),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentRequest/r"},
      {"a generated graph without labels has the same status",
       {request("r", "g"), graph("g")},
       How::Seen,
       newer(",'spec':{'services':{'a':{}}}", ",'generation':2"),
       "",
       "DynamoGraphDeployment/g"},
      {"a generated graph with a label of another request has another status",
       {request("r", "g"), request("other", "h"),
        graph("g", kSpec, ",'generation':1" + labelled(ofRequest("other")))},
       How::Seen,
       newer(kSpec + ",'status':{'state':'failed'}", ",'generation':1" + labelled(ofRequest("other"))),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentRequest/other DynamoGraphDeploymentRequest/r"},
      {"a generated graph without labels is deleted",
       {request("r", "g"), graph("g")},
       How::SeenDeleted,
       graph("g"),
       "",
       "DynamoGraphDeployment/g DynamoGraphDeploymentRequest/r"},
      {"a pod that only has the label of the Job",
       {graph("g"), jobOf("c")},
       How::Seen,
       podOfJob("other"),
       "",
       "DynamoGraphDeployment/g"},
  };
}

}  // namespace

TEST_CASE("who is reconciled after a change") {
  for (const Row& row : rows()) {
    DYNAMIC_SECTION(row.about) {
      CacheFixture f;
      for (const std::string& stored : row.stored) f.see(stored);
      std::string triggered = "no change was reported";
      f.cache.onChange(
          [&](const kube::Change& change) { triggered = namesOf(triggeredBy(change, f.cache)); });
      const json::Document changed = parsed(row.object);
      switch (row.how) {
        case How::Seen:
          f.see(row.object);
          break;
        case How::SeenDeleted:
          f.seeDeleted(row.object);
          break;
        case How::Written:
          f.cache.wrote(changed, row.writer);
          break;
        case How::Deleted:
          f.cache.deleted(keyOf(row.object), lifecycle::uidOf(changed), row.writer);
          break;
      }
      CHECK(triggered == row.triggered);
    }
  }
}

TEST_CASE("a watch that reports an own write again triggers nothing") {
  CacheFixture f;
  const std::string child = deployment(ownedBy(kComponentKind, "g-web"));
  int changes = 0;
  f.cache.onChange([&](const kube::Change&) { ++changes; });
  f.cache.wrote(parsed(child), kComponentKind);
  CHECK(changes == 1);
  f.see(child);
  CHECK(changes == 1);
}

}  // namespace dynamo::controller::test
