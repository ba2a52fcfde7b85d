import type { IncomingMessage } from "node:http";
import { json } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { KubernetesEngine } from "../../../sandbox/kubernetes/kubernetes-engine.ts";
import { programPodSpec } from "../../../sandbox/kubernetes/program-pod.ts";
import type { EngineOptions, SandboxRequest } from "../../../sandbox/sandbox-engine.ts";
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

const LEASES = "/apis/coordination.k8s.io/v1/namespaces/programs/leases";
const TEMPLATE = `${EXTENSIONS}/sandboxtemplates/ptc-javascript`;

interface Stored {
  metadata: { name: string; labels?: object; annotations?: object; ownerReferences?: object[] };
  spec?: object;
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
const WAITING = (pod: string) => ({
  ...condition("False", "DependenciesNotReady", "Pod is Pending"),
  sandbox: { name: pod },
});
const READY = (pod: string) => ({
  ...condition("True", "DependenciesReady", "Pod is Ready"),
  sandbox: { name: pod, podIPs: ["127.0.0.1"] },
});

interface Given {
  /** What claims have, one after the other; each is told the name of a pod. */
  statuses?: ((pod: string) => object)[];
  /** More objects, by path, or others in place of those that are there. */
  objects?: Record<string, object | undefined>;
  /** Refusals of requests to make something, by path, one after the other. */
  refusals?: Record<string, { status: number; message: string }[]>;
  options?: Partial<EngineOptions>;
}

/** A cluster with a pool, of which only the API server is there, so that nothing can be executed in its pods. */
async function clusterWith({ statuses = [], objects = {}, refusals = {}, options = {} }: Given = {}) {
  const claims = new Map<string, Stored>();
  const leases = new Map<string, Stored>();
  const made: Stored[] = [];
  /** What the cluster was asked by making something that it does not keep. */
  const asked: Stored[] = [];
  const deleted: { path: string; body: unknown }[] = [];
  const found: Record<string, object | undefined> = {
    "/version": { gitVersion: "v1.34.4" },
    [`${EXTENSIONS}/sandboxwarmpools/ptc-javascript`]: {
      spec: { replicas: 1, sandboxTemplateRef: { name: "ptc-javascript" } },
    },
    [TEMPLATE]: { spec: { podTemplate: { spec: SPEC } } },
    "/apis/node.k8s.io/v1/runtimeclasses/gvisor": { handler: "runsc" },
    ...objects,
  };
  const answer = async (request: IncomingMessage): Promise<{ status?: number; body: object }> => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://cluster");
    const [collection, name = ""] = pathname.startsWith(CLAIMS)
      ? [claims, pathname.slice(CLAIMS.length + 1)]
      : [leases, pathname.slice(LEASES.length + 1)];
    if (request.method === "POST") {
      const refusal = refusals[pathname]?.shift();
      if (refusal !== undefined) return { status: refusal.status, body: refusal };
      const stored = (await json(request)) as Stored;
      if (collection === claims) made.push(stored);
      else if (!pathname.startsWith(LEASES)) {
        asked.push(stored);
        return { body: { status: { allowed: true } } };
      }
      const metadata = { ...stored.metadata, uid: "1" };
      const status = collection === claims ? (statuses.shift()?.(`pod-${made.length}`) ?? {}) : undefined;
      collection.set(metadata.name, { ...stored, metadata, ...(status && { status }) });
      return { body: { ...stored, metadata } };
    }
    if (request.method === "DELETE") {
      deleted.push({ path: pathname, body: await json(request) });
      return collection.delete(name) ? { body: {} } : { status: 404, body: {} };
    }
    if (searchParams.has("watch")) return { status: 410, body: {} };
    if (pathname === CLAIMS || pathname === LEASES)
      return { body: { metadata: {}, items: [...collection.values()] } };
    const object = claims.get(name) ?? found[pathname];
    return object === undefined ? { status: 404, body: {} } : { body: object };
  };
  const kubeconfig = await kubeconfigOfCluster(async (request, response) => {
    const { status = 200, body } = await answer(request);
    response.writeHead(status).end(JSON.stringify(body));
  });
  const engine = new KubernetesEngine({
    ...{ folder: newFolder(), runners: RUNNER_STARTS, ...options },
    kubernetes: { kubeconfig, readyTimeoutMs: 120_000, ...options.kubernetes },
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
  return { engine, start, made, asked, claims, leases, deleted };
}

/** A pod by its path. */
const podWith = (name: string, status: object) => ({
  [`/api/v1/namespaces/programs/pods/${name}`]: { metadata: { name, uid: name }, spec: SPEC, status },
});

test("a claim whose pod has ended before it was ready is given up at once, and another is made", async () => {
  const { start, made, claims } = await clusterWith({ statuses: [FAILED, READY, READY] });
  // The pods of the others are reached for, in vain.
  await expect(start()).rejects.toThrow("nothing can be executed in the pod pod-3");
  expect(made).toHaveLength(3);
  expect([...claims.keys()]).toEqual([]);
});

test("where each of three pods has ended before it was ready, the last one's end is told", async () => {
  const { start, made, claims } = await clusterWith({
    statuses: [FAILED, FAILED, FAILED, READY],
    objects: podWith("pod-3", {
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 121, reason: "Error" } } }],
    }),
  });
  await expect(start()).rejects.toMatchObject({
    code: "start_failed",
    message:
      "the pod for the program has ended before it was used: PodFailed: Pod failed, Error, exit code 121; `kubectl logs pod-3 -n programs` may say more while there is the pod",
  });
  expect(made).toHaveLength(3);
  expect([...claims.keys()]).toEqual([]);
});

test("a claim that waits for a pod is given back when nobody wants the pod any more", async () => {
  const { start, made, claims } = await clusterWith();
  const cancelling = new AbortController();
  const starting = start({ signal: cancelling.signal, onRequested: () => cancelling.abort() });
  await expect(starting).rejects.toMatchObject({ code: "cancelled" });
  expect(made).toHaveLength(1);
  expect([...claims.keys()]).toEqual([]);
});

test("that a claim was made is told once, however many are made", async () => {
  const { start, made } = await clusterWith({ statuses: [FAILED, FAILED, FAILED] });
  let told = 0;
  await expect(start({ onRequested: () => void told++ })).rejects.toThrow("has ended before it was used");
  expect([told, made.length]).toEqual([1, 3]);
});

test("a claim says whose it is, for which run, and when it ends by itself", async () => {
  const { start, made, leases } = await clusterWith({ statuses: [FAILED, FAILED, FAILED] });
  const use = { run: "5e0d0a4e-6f3b-4f0e-9d2d-8d2c4a3f1b00", principal: "https://issuer.example.com#ann" };
  await expect(start({ owner: "replica 1", use })).rejects.toThrow("has ended");
  const [lease] = leases.values();
  expect(made[0]).toMatchObject({
    metadata: {
      labels: {
        "app.kubernetes.io/managed-by": "ptc",
        "dev.ptc.owner": expect.stringMatching(/^[0-9a-f]{32}$/),
        "dev.ptc.run": use.run,
        "dev.ptc.principal": "c652ee73361259ca286d6cdb94ddfdf2",
      },
      annotations: { "dev.ptc/owner": "replica 1" },
      ownerReferences: [{ kind: "Lease", name: lease?.metadata.name, uid: "1" }],
    },
    spec: { warmPoolRef: { name: "ptc-javascript" }, lifecycle: { shutdownPolicy: "Delete" } },
  });
});

test.each<[what: string, given: Given, message: RegExp]>([
  [
    "whose image no node can pull",
    {
      statuses: [WAITING],
      objects: podWith("pod-1", {
        containerStatuses: [{ state: { waiting: { reason: "ErrImagePull", message: "no such image" } } }],
      }),
    },
    /^the cluster has no pod for the program: ErrImagePull: no such image; see that the nodes can pull .*`kubectl describe pod pod-1 -n programs`$/,
  ],
  [
    "that its controller cannot serve",
    { statuses: [() => condition("False", "WarmPoolNotFound", "no pool ptc-javascript")] },
    /no pod for the program: WarmPoolNotFound: no pool ptc-javascript$/,
  ],
  [
    "that waits for too long, with what the scheduler says",
    {
      statuses: [WAITING],
      objects: podWith("pod-1", {
        conditions: [{ type: "PodScheduled", status: "False", message: "0/3 nodes have enough memory" }],
      }),
      options: { kubernetes: { readyTimeoutMs: 300 } },
    },
    /none was ready within 1 s: 0\/3 nodes have enough memory; raise the replicas/,
  ],
  [
    "that waits for too long, with what its condition says",
    { statuses: [WAITING], options: { kubernetes: { readyTimeoutMs: 300 } } },
    /none was ready within 1 s: DependenciesNotReady: Pod is Pending; raise/,
  ],
  [
    "of which nothing is said",
    { options: { kubernetes: { readyTimeoutMs: 300 } } },
    /none was ready within 1 s: the pool is empty; raise/,
  ],
  [
    "that the cluster does not take",
    { refusals: { [CLAIMS]: [{ status: 422, message: "exceeded quota" }] } },
    /the cluster takes no claim: exceeded quota; `kubectl auth can-i create sandboxclaims/,
  ],
])("a claim %s ends with why, and is not made again", async (_, given, message) => {
  const { start, made, claims } = await clusterWith(given);
  await expect(start()).rejects.toMatchObject({
    code: "start_failed",
    message: expect.stringMatching(message),
  });
  expect(made.length).toBeLessThan(2);
  expect([...claims.keys()]).toEqual([]);
});

test("a claim of which the answer was lost is taken for made", async () => {
  const refusals = { [CLAIMS]: [{ status: 409, message: "already exists" }] };
  const { start } = await clusterWith({ refusals, options: { kubernetes: { readyTimeoutMs: 300 } } });
  await expect(start()).rejects.toThrow("none was ready within 1 s");
});

test.each<[what: string, given: Given, request: Partial<SandboxRequest>, code: string, message: RegExp]>([
  [
    "another runtime",
    { objects: { "/apis/node.k8s.io/v1/runtimeclasses/gvisor": { handler: "runc" } } },
    {},
    "runtime_missing",
    /run with 'runc', and sandbox.runtime is 'runsc'/,
  ],
  [
    "another image than the other language's",
    {},
    { image: `sha256:${"cd".repeat(32)}` },
    "image_missing",
    /has another image than that of the other runner/,
  ],
  [
    "other limits",
    {},
    { limits: { ...LIMITS, memoryMb: 256 } },
    "start_failed",
    /the SandboxTemplate 'ptc-javascript' cannot be used: command must be .* 256/,
  ],
  [
    "no template",
    { objects: { [TEMPLATE]: undefined } },
    {},
    "image_missing",
    /SandboxTemplate 'ptc-javascript', which is not there/,
  ],
  [
    "no certificates, and the channel is a socket",
    { options: { channel: "socket" } },
    {},
    "start_failed",
    /`sandbox.channel: socket` needs sandbox.kubernetes.certificates/,
  ],
])("nothing is claimed from a pool with %s", async (_, given, request, code, message) => {
  const { start, made } = await clusterWith(given);
  await expect(start(request)).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
  expect(made).toEqual([]);
});

test("a cluster is described by its version, its endpoint, and how programs reach ptc there", async () => {
  const described = async (given: Given) => {
    const { engine } = await clusterWith(given);
    const { version, endpoint, runtimes } = await engine.describe();
    return { version, endpoint, ...runtimes.get("runsc") };
  };
  expect(await described({})).toEqual({
    version: "v1.34.4",
    endpoint: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+ \(context c\), namespace programs$/),
    channel: { kind: "attached", why: expect.stringContaining("sandbox.kubernetes.certificates is not set") },
    problem: undefined,
  });
  const certificates = newFolder();
  expect(await described({ options: { kubernetes: { certificates } } })).toMatchObject({
    channel: { kind: "attached", why: expect.stringContaining("the template mounts no certificates") },
  });
  const mounting = programPodSpec({
    ...{ image: `ptc-runner@${DIGEST}`, runtimeClass: "gvisor", limits: LIMITS },
    ...{ start: RUNNER_STARTS.javascript, certificates: "keys" },
  });
  const objects = { [TEMPLATE]: { spec: { podTemplate: { spec: mounting } } } };
  expect(await described({ objects, options: { kubernetes: { certificates } } })).toMatchObject({
    channel: { kind: "socket", why: "by TLS to the pod" },
  });
  expect(await described({ options: { channel: "socket" } })).toMatchObject({
    channel: { kind: "socket", why: "sandbox.channel says so" },
  });
  expect(await described({ objects: { [TEMPLATE]: undefined } })).toMatchObject({
    problem: expect.stringContaining("has no pods: the SandboxWarmPool 'ptc-javascript' names"),
  });
});

test.each<[channel: EngineOptions["channel"], asks: boolean]>([
  ["auto", true],
  ["attached", true],
  ["socket", false],
])("with the channel %s, whether ptc may execute in pods is examined: %s", async (channel, asks) => {
  const { engine, asked } = await clusterWith({ options: { channel } });
  for await (const _ of engine.examine({ runtime: "runsc", runners: ["javascript"], limits: LIMITS }));
  const reviews = asked.map((review) => JSON.stringify(review));
  expect(reviews.some((review) => review.includes('"subresource":"exec"'))).toBe(asks);
  expect(reviews.length).toBeGreaterThan(0);
});

test("an image is found by each of its names, and no other", async () => {
  const { engine } = await clusterWith();
  expect(await engine.findImage("ptc-runner")).toEqual({ digest: DIGEST });
  expect(await engine.findImage("another")).toBeUndefined();
});

test("sandboxes are listed by their claims, with the owner as it is", async () => {
  const { engine, claims } = await clusterWith();
  const labels = { "dev.ptc.owner": "short" };
  claims.set("a", { metadata: { name: "a", labels, annotations: { "dev.ptc/owner": "replica 1" } } });
  claims.set("b", { metadata: { name: "b", labels } });
  expect(await engine.list()).toEqual([
    { id: "a", owner: "replica 1" },
    { id: "b", owner: "short" },
  ]);
  await engine.remove("a");
  expect([...claims.keys()]).toEqual(["b"]);
});

test("the lease of a process is made once, made again where that failed, and removed when it closes", async () => {
  const refusals = { [LEASES]: [{ status: 422, message: "not now" }] };
  const statuses = [FAILED, FAILED, FAILED, FAILED, FAILED, FAILED];
  const { engine, start, leases, deleted } = await clusterWith({ refusals, statuses });
  await expect(start()).rejects.toThrow("not now");
  await expect(start()).rejects.toThrow("has ended before it was used");
  await expect(start()).rejects.toThrow("has ended before it was used");
  const [lease] = leases.keys();
  expect(leases.size).toBe(1);
  await engine.close();
  expect(deleted).toContainEqual({ path: `${LEASES}/${lease}`, body: {} });
  expect(leases.size).toBe(0);
});

test("the leases of the dead are removed with what belongs to them, and those of the living are not", async () => {
  const { start, leases, deleted } = await clusterWith({ statuses: [FAILED, FAILED, FAILED] });
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString();
  const lease = (name: string, minutes: number) =>
    leases.set(name, {
      metadata: { name, uid: name } as Stored["metadata"],
      spec: { holderIdentity: name, renewTime: minutesAgo(minutes) },
    });
  lease("dead", 20);
  lease("living", 1);
  await expect(start()).rejects.toThrow("has ended");
  await expect.poll(() => [...leases.keys()]).not.toContain("dead");
  expect(leases.has("living")).toBe(true);
  expect(deleted).toContainEqual({
    path: `${LEASES}/dead`,
    body: { propagationPolicy: "Background", preconditions: { uid: "dead" } },
  });
});

test("the lease of a ptc that is a pod of the namespace belongs to the pod", async () => {
  const referencesIn = async (namespace: string) => {
    vi.stubEnv("PTC_POD_NAMESPACE", namespace);
    vi.stubEnv("PTC_POD_NAME", "ptc-0");
    vi.stubEnv("PTC_POD_UID", "77");
    const { start, leases } = await clusterWith({ statuses: [FAILED, FAILED, FAILED] });
    await expect(start()).rejects.toThrow("has ended");
    return [...leases.values()][0]?.metadata.ownerReferences;
  };
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await referencesIn("programs")).toEqual([
    { apiVersion: "v1", kind: "Pod", name: "ptc-0", uid: "77" },
  ]);
  expect(await referencesIn("elsewhere")).toBeUndefined();
});
