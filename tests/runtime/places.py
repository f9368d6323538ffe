"""Where the objects of these tests are."""

NAMESPACE = "real"
# Fixed, because etcd tells its clients an address.
NATS, ETCD = "10.96.0.222", "10.96.0.237"
# What every graph gets: the mocker of 1.0.0 needs NATS.
SERVERS = {"NATS_SERVER": f"nats://{NATS}:4222", "ETCD_ENDPOINTS": f"http://{ETCD}:2379"}
ETCD_IMAGE = "localhost/etcd:1"
GRAPHS = f"/apis/nvidia.com/v1alpha1/namespaces/{NAMESPACE}/dynamographdeployments"
ADAPTERS = f"/apis/nvidia.com/v1alpha1/namespaces/{NAMESPACE}/dynamographdeploymentscalingadapters"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
