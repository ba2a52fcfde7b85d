/**
 * Whether a cluster has what ptc needs, for `ptc doctor`: each part with what was found, or with what to do and the `kubectl` line for
 * it. Makes nothing in the cluster: reviews of rights are asked for and not kept.
 */

import * as z from "zod/mini";
import { messageOf } from "../../base/faults.ts";
import { countNoun } from "../../base/quantities.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { RunnerName, RunnerStarts } from "../../protocol/runners.ts";
import type { EnginePart, ExaminationRequest } from "../sandbox-engine.ts";
import { ApiError, type ClusterApi } from "./cluster-api.ts";
import { KUBERNETES_ADVICE } from "./kubernetes-advice.ts";
import { MANIFESTS, type Pools } from "./pools.ts";
import { problemsOfPod } from "./program-pod.ts";

const EXTENSIONS = "extensions.agents.x-k8s.io";
const VERSION = "v1beta1";
const RESOURCES = ["sandboxclaims", "sandboxtemplates", "sandboxwarmpools"];
const RELEASES = "https://github.com/kubernetes-sigs/agent-sandbox/releases";
const MAX_TEXT_CHARS = 200;

const Version = z.object({ gitVersion: z.string() });
const ApiGroup = z.object({ versions: z.array(z.object({ version: z.string() })) });
const ApiResources = z.object({ resources: z.array(z.object({ name: z.string() })) });
const AccessReview = z.object({ status: z.object({ allowed: z.boolean() }) });
const SelfReview = z.object({ status: z.object({ userInfo: z.object({ username: z.string() }) }) });

/** One thing that ptc does in the namespace of its pods. */
export interface Right {
  group: string;
  /** With a subresource behind a slash, where it is about one. */
  resource: string;
  verbs: readonly string[];
}

/** What ptc needs to be allowed in its namespace. `pods/exec` is for the channel through the API server alone. */
export const RIGHTS: readonly Right[] = [
  {
    group: EXTENSIONS,
    resource: "sandboxclaims",
    verbs: ["create", "get", "list", "watch", "patch", "delete"],
  },
  { group: EXTENSIONS, resource: "sandboxtemplates", verbs: ["get"] },
  { group: EXTENSIONS, resource: "sandboxwarmpools", verbs: ["get"] },
  { group: "coordination.k8s.io", resource: "leases", verbs: ["create", "get", "list", "patch", "delete"] },
  { group: "", resource: "pods", verbs: ["get"] },
  { group: "", resource: "pods/exec", verbs: ["get", "create"] },
];

/** What the cluster is to have. */
export interface ClusterNeeds extends ExaminationRequest {
  starts: RunnerStarts;
  /** Whether programs reach ptc through the API server. */
  isAttached: boolean;
}

/** Looks at a cluster part by part. Parts that need one that is missing are left out. Never rejects. */
export async function* examineCluster(
  api: ClusterApi,
  pools: Pools,
  needs: ClusterNeeds,
): AsyncGenerator<EnginePart> {
  const cluster = await tryPart("kubernetes", () => describeServer(api));
  yield cluster;
  if (!cluster.ok) return;
  const sandboxes = await tryPart("agent-sandbox", () => describeExtensions(api));
  yield sandboxes;
  const rights = await tryPart("rights", () => describeRights(api, needs.isAttached));
  yield rights;
  if (!sandboxes.ok || !rights.ok) return;
  for (const runner of needs.runners) {
    const template = await tryPart(`template (${runner})`, () => describeTemplate(pools, runner, needs));
    yield template;
    if (template.ok) yield await tryPart(`pool (${runner})`, () => describePool(api, pools, runner));
  }
}

async function tryPart(part: string, describe: () => Promise<string>): Promise<EnginePart> {
  try {
    return { part, ok: true, detail: await describe() };
  } catch (error) {
    return { part, ok: false, detail: oneLine(messageOf(error)) };
  }
}

async function describeServer(api: ClusterApi): Promise<string> {
  try {
    const { gitVersion } = Version.parse(await api.request({ path: "/version", isPatient: false }));
    return `${oneLine(gitVersion, MAX_TEXT_CHARS)}, ${api.endpoint}, namespace ${api.namespace}`;
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    throw new Error(
      `the API server at ${api.endpoint} refuses ptc: ${error.message}; \`kubectl auth whoami\` shows who it takes you for`,
    );
  }
}

async function describeExtensions(api: ClusterApi): Promise<string> {
  const group = await api.find(`/apis/${EXTENSIONS}`);
  if (group === undefined)
    throw new Error(
      `the cluster has no agent-sandbox with its extensions: \`kubectl apply -f\` the manifest and the extensions of a release (${RELEASES}); \`kubectl get crd sandboxclaims.${EXTENSIONS}\` shows whether they are there`,
    );
  const versions = ApiGroup.parse(group).versions.map(({ version }) => version);
  if (!versions.includes(VERSION))
    throw new Error(
      `agent-sandbox serves ${oneLine(versions.join(", "), MAX_TEXT_CHARS)}, and ptc needs ${VERSION}: \`kubectl apply -f\` a newer release (${RELEASES})`,
    );
  const served = ApiResources.parse(await api.request({ path: `/apis/${EXTENSIONS}/${VERSION}` })).resources;
  const missing = RESOURCES.filter((resource) => !served.some(({ name }) => name === resource));
  if (missing.length > 0)
    throw new Error(
      `the cluster has no ${missing.join(", ")} of agent-sandbox: \`kubectl apply -f\` the extensions of a release (${RELEASES})`,
    );
  return `${EXTENSIONS}/${VERSION}`;
}

async function describeRights(api: ClusterApi, isAttached: boolean): Promise<string> {
  const needed = RIGHTS.filter(({ resource }) => isAttached || resource !== "pods/exec");
  const reviews = needed.flatMap(({ group, resource, verbs }) =>
    verbs.map(async (verb) => ({
      group,
      resource,
      verb,
      isAllowed: await isAllowed(api, group, resource, verb),
    })),
  );
  const denied = (await Promise.all(reviews)).filter((review) => !review.isAllowed);
  const user = await userOf(api);
  if (denied.length === 0) return `${user} may do all that ptc does in the namespace ${api.namespace}`;
  throw new Error(adviseRights(user, api.namespace, denied));
}

/** What is not allowed, and the lines that allow it. Pure. */
export function adviseRights(
  user: string,
  namespace: string,
  denied: readonly { group: string; resource: string; verb: string }[],
): string {
  const byResource = new Map<string, string[]>();
  for (const { group, resource, verb } of denied) {
    // As kubectl writes a resource: RESOURCE.GROUP/SUBRESOURCE.
    const [name, subresource] = resource.split("/");
    const full = `${name}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
    byResource.set(full, [...(byResource.get(full) ?? []), verb]);
  }
  const what = [...byResource].map(([resource, verbs]) => `${verbs.join(", ")} ${resource}`);
  const account = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user);
  const subject = account === null ? `--user=${user}` : `--serviceaccount=${account[1]}:${account[2]}`;
  return `${user} may not ${what.join("; ")} in the namespace ${namespace}: apply the Role \`ptc\` of docs/kubernetes.md (the chart has it), then \`kubectl create rolebinding ptc --role=ptc ${subject} -n ${namespace}\``;
}

async function isAllowed(api: ClusterApi, group: string, resource: string, verb: string): Promise<boolean> {
  const [name, subresource] = resource.split("/");
  const resourceAttributes = {
    ...{ namespace: api.namespace, group, resource: name, verb },
    ...(subresource !== undefined && { subresource }),
  };
  const answer = await api.request({
    method: "POST",
    path: "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
    body: {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SelfSubjectAccessReview",
      spec: { resourceAttributes },
    },
  });
  return AccessReview.parse(answer).status.allowed;
}

/** Who ptc is to the cluster, as far as it says so (Kubernetes 1.28 and later). */
async function userOf(api: ClusterApi): Promise<string> {
  try {
    const answer = await api.request({
      method: "POST",
      path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
      body: { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" },
    });
    return oneLine(SelfReview.parse(answer).status.userInfo.username, MAX_TEXT_CHARS);
  } catch {
    return "this user";
  }
}

async function describeTemplate(pools: Pools, runner: RunnerName, needs: ClusterNeeds): Promise<string> {
  const template = await pools.templateOf(runner);
  const runtimeClass = template.spec.runtimeClassName ?? "none";
  if (template.runtime !== needs.runtime)
    throw new Error(
      `the pods of the SandboxTemplate '${template.name}' run with '${template.runtime}', and sandbox.runtime is '${needs.runtime}': ${KUBERNETES_ADVICE.missingRuntime}`,
    );
  const problems = problemsOfPod(template.spec, needs.starts[runner], needs.limits);
  if (problems.length > 0)
    throw new Error(
      `the SandboxTemplate '${template.name}' cannot be used: ${problems.join("; ")}; ${MANIFESTS}`,
    );
  return `${template.name}, RuntimeClass ${runtimeClass}, ${oneLine(template.image, MAX_TEXT_CHARS)}`;
}

async function describePool(api: ClusterApi, pools: Pools, runner: RunnerName): Promise<string> {
  const { pool, replicas, ready } = await pools.templateOf(runner);
  const scale = `\`kubectl scale sandboxwarmpool ${pool} --replicas=3 -n ${api.namespace}\``;
  if (replicas === 0) return `${pool} keeps no pods waiting, so each program waits for a new one: ${scale}`;
  if (ready === 0)
    throw new Error(
      `none of ${countNoun(replicas, "pod")} of ${pool} is ready: \`kubectl describe sandboxwarmpools,sandboxes,pods -n ${api.namespace}\` says why`,
    );
  return `${pool}, ${ready} of ${countNoun(replicas, "pod")} ready`;
}
