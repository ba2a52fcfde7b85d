import type { EngineAdvice } from "../sandbox-profile.ts";

const TEMPLATE = "`ptc image manifests IMAGE | kubectl apply -f -` makes a template whose pods keep it";
const REBUILD = "build the image anew with `ptc image build`, push it, and name its digest in the template";
const NODES =
  "use nodes with a newer gVisor: https://gvisor.dev/docs/user_guide/quick_start/kubernetes/; on GKE a node pool with `--sandbox type=gvisor`";
const KUBELET = "set podPidsLimit and containerLogMaxSize of the kubelet";

/** What to do where a cluster does not keep a wall. */
export const KUBERNETES_ADVICE: EngineAdvice = {
  missingRuntime:
    "the template's RuntimeClass must have the handler runsc or gvisor: https://gvisor.dev/docs/user_guide/quick_start/kubernetes/; `kubectl get runtimeclass` lists what there is",
  walls: {
    kernel: NODES,
    sentry: NODES,
    network: NODES,
    names: REBUILD,
    "read-only": TEMPLATE,
    user: TEMPLATE,
    capabilities: TEMPLATE,
    "new-privileges": TEMPLATE,
    mounts: TEMPLATE,
    files: TEMPLATE,
    engine: TEMPLATE,
    devices: NODES,
    memory: TEMPLATE,
    processes: REBUILD,
    disk: REBUILD,
    processors: TEMPLATE,
    "open-files": REBUILD,
    core: REBUILD,
    log: KUBELET,
    time: NODES,
    orphan: REBUILD,
    removal: "see why the claim stays: `kubectl describe sandboxclaims`",
  },
};
