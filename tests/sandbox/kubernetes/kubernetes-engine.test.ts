import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { KubernetesEngine } from "../../../sandbox/kubernetes/kubernetes-engine.ts";
import { programPodSpec } from "../../../sandbox/kubernetes/program-pod.ts";
import type { SandboxRequest } from "../../../sandbox/sandbox-engine.ts";
import { newFolder } from "../../temporary-folder.ts";
import { kubeconfigOfCluster } from "./fake-api.ts";

const DIGEST = `sha256:${"ab".repeat(32)}`;
const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const SPEC = programPodSpec({
  image: `ptc-runner@${DIGEST}`,
  ...{ runtimeClass: "gvisor", start: RUNNER_STARTS.javascript, limits: LIMITS },
});
const EXTENSIONS = "/apis/extensions.agents.x-k8s.io/v1beta1/namespaces/programs";
const CLAIMS = `${EXTENSIONS}/sandboxclaims`;

interface Claim {
  metadata: { name: string };
  status?: object;
}

/** A `Ready` condition of a claim, as the controller of agent-sandbox sets it. */
const condition = (status: string, reason: string, message: string) => ({
  conditions: [{ type: "Ready", status, reason, message }],
});
const FAILED = (pod: string) => ({
  ...condition("False", "PodFailed", "Pod failed"),
  sandbox: { name: pod },
});
const READY = (pod: string) => ({
  ...condition("True", "DependenciesReady", "Pod is Ready"),
  sandbox: { name: pod, podIPs: ["127.0.0.1"] },
});

/** A cluster with a pool, whose claims get these statuses one after the other. Nothing can be executed in its pods. */
async function clusterWith(statuses: ((pod: string) => object)[], pods: Record<string, object> = {}) {
  const claims = new Map<string, Claim>();
  const made: string[] = [];
  const objects: Record<string, object> = {
    [`${EXTENSIONS}/sandboxwarmpools/ptc-javascript`]: {
      spec: { replicas: 1, sandboxTemplateRef: { name: "ptc-javascript" } },
    },
    [`${EXTENSIONS}/sandboxtemplates/ptc-javascript`]: { spec: { podTemplate: { spec: SPEC } } },
    "/apis/node.k8s.io/v1/runtimeclasses/gvisor": { handler: "runsc" },
  };
  for (const [name, pod] of Object.entries(pods)) objects[`/api/v1/namespaces/programs/pods/${name}`] = pod;
  const answer = async (request: IncomingMessage): Promise<object | undefined> => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://cluster");
    if (request.method === "POST" && pathname.endsWith("/leases"))
      return { metadata: { name: "lease", uid: "1" } };
    if (request.method === "POST" && pathname === CLAIMS) {
      const claim = (await json(request)) as Claim;
      made.push(claim.metadata.name);
      claims.set(claim.metadata.name, { ...claim, status: statuses.shift()?.(`pod-${made.length}`) ?? {} });
      return claim;
    }
    if (request.method === "DELETE") return claims.delete(pathname.slice(CLAIMS.length + 1)) ? {} : undefined;
    if (searchParams.has("watch")) return undefined;
    if (pathname === CLAIMS || pathname.endsWith("/leases"))
      return { metadata: {}, items: pathname === CLAIMS ? [...claims.values()] : [] };
    return claims.get(pathname.slice(CLAIMS.length + 1)) ?? objects[pathname];
  };
  const kubeconfig = await kubeconfigOfCluster(async (request, response) => {
    const found = await answer(request);
    response.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found ?? {}));
  });
  const engine = new KubernetesEngine({
    ...{ folder: newFolder(), runners: RUNNER_STARTS },
    kubernetes: { kubeconfig, readyTimeoutMs: 120_000 },
  });
  onTestFinished(() => engine.close());
  const request = {
    image: DIGEST,
    runtime: "runsc",
    runner: "javascript" as const,
    limits: LIMITS,
    owner: "ann",
  };
  const start = (more: Partial<SandboxRequest> = {}) =>
    engine.start({ ...request, ...more }, { onStdout() {}, onStderr() {} });
  return { start, made, claims };
}

test("a claim whose pod has ended before it was ready is given up at once, and another is made", async () => {
  const { start, made, claims } = await clusterWith([FAILED, READY, READY]);
  // The pods of the others are reached for, in vain.
  await expect(start()).rejects.toThrow("nothing can be executed in the pod pod-3");
  expect(made).toHaveLength(3);
  expect([...claims.keys()]).toEqual([]);
});

test("where each of three pods has ended before it was ready, the last one's end is told", async () => {
  const pod = {
    metadata: { name: "pod-3", uid: "3" },
    spec: SPEC,
    status: {
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 121, reason: "Error" } } }],
    },
  };
  const { start, made, claims } = await clusterWith([FAILED, FAILED, FAILED, READY], { "pod-3": pod });
  await expect(start()).rejects.toMatchObject({
    code: "start_failed",
    message:
      "the pod for the program has ended before it was used: PodFailed: Pod failed, Error, exit code 121; `kubectl logs pod-3 -n programs` may say more while there is the pod",
  });
  expect(made).toHaveLength(3);
  expect([...claims.keys()]).toEqual([]);
});

test("a claim that waits for a pod is given back when nobody wants the pod any more", async () => {
  const { start, made, claims } = await clusterWith([]);
  const cancelling = new AbortController();
  const starting = start({ signal: cancelling.signal, onRequested: () => cancelling.abort() });
  await expect(starting).rejects.toMatchObject({ code: "cancelled" });
  expect(made).toHaveLength(1);
  expect([...claims.keys()]).toEqual([]);
});
