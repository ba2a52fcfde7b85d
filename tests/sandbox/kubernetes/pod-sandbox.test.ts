import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import type { BoundClaim, Claims, Pod } from "../../../sandbox/kubernetes/claims.ts";
import { PodChannel } from "../../../sandbox/kubernetes/pod-channel.ts";
import { endOf, PodSandbox } from "../../../sandbox/kubernetes/pod-sandbox.ts";
import { programPodSpec } from "../../../sandbox/kubernetes/program-pod.ts";
import { keptOutput } from "../outputs.ts";

const POD: Pod = {
  metadata: { name: "pod-1", uid: "1" },
  spec: programPodSpec({
    ...{ image: `ptc-runner@sha256:${"ab".repeat(32)}`, runtimeClass: "gvisor" },
    ...{ start: RUNNER_STARTS.javascript, limits: { memoryMb: 512, cpus: 1, pids: 256 } },
  }),
};

test("a claim that is not ready any more ends no program whose pod runs, and its program when the pod has ended", async () => {
  let pod: Pod = { ...POD, status: { phase: "Running" } };
  let looks = 0;
  const [stream] = duplexPair();
  const claim = { name: "claim-1", lost: Promise.resolve(), remove: async () => {} } as unknown as BoundClaim;
  const claims = {
    findPod: async () => {
      looks++;
      return pod;
    },
  } as unknown as Claims;
  const sandbox = new PodSandbox({ claim, pod, claims }, new PodChannel(stream, keptOutput().output), stream);
  let hasEnded = false;
  void sandbox.exited.then(() => {
    hasEnded = true;
  });
  await expect.poll(() => looks).toBeGreaterThan(1);
  expect(hasEnded).toBe(false);
  expect(stream.destroyed).toBe(false);
  pod = {
    ...POD,
    status: {
      phase: "Failed",
      containerStatuses: [{ state: { terminated: { exitCode: 137, reason: "OOMKilled" } } }],
    },
  };
  expect(await sandbox.exited).toEqual({ code: 137 });
  expect(stream.destroyed).toBe(true);
});

const DELETED = "2026-01-02T03:04:05Z";
const disrupted = (status: string) => [
  { type: "Ready", status: "True", reason: "IsReady" },
  { type: "DisruptionTarget", status, reason: "EvictionByEvictionAPI", message: "the node\nis drained" },
];
const exited = (exitCode: number, reason?: string) => [{ state: { terminated: { exitCode, reason } } }];
const LOST = {
  ...{ code: 137, isKilledByOthers: true },
  killedBy:
    "with its pod pod-1, by an eviction, a node that was drained, or somebody; run the program again: `kubectl get events --field-selector involvedObject.name=pod-1` says more",
};

test.each<[what: string, status: Pod["status"], deletionTimestamp: string | undefined, end: unknown]>([
  ["of which nothing is said runs", undefined, undefined, undefined],
  ["that runs has not ended", { phase: "Running", containerStatuses: [{ state: {} }] }, undefined, undefined],
  ["that ends by itself has its exit code", { containerStatuses: exited(3) }, undefined, { code: 3 }],
  ["that SIGKILL ends has its exit code", { containerStatuses: exited(137) }, undefined, { code: 137 }],
  ["that is deleted while it runs is killed by others", { phase: "Running" }, DELETED, LOST],
  ["that is deleted and then killed is so too", { containerStatuses: exited(137) }, DELETED, LOST],
  ["that is deleted may end by itself before", { containerStatuses: exited(0) }, DELETED, { code: 0 }],
  [
    "that takes too much memory is killed for it, whatever else is said",
    { phase: "Failed", reason: "Evicted", containerStatuses: exited(137, "OOMKilled") },
    DELETED,
    { code: 137 },
  ],
  [
    "that its node evicts is ended by the cluster, which says why",
    { phase: "Failed", reason: "Evicted", message: "low on\nresource: memory" },
    undefined,
    "the cluster has ended its pod (Evicted: low on resource: memory)",
  ],
  [
    "may be ended by the cluster without a message",
    { phase: "Failed", reason: "NodeLost", containerStatuses: exited(137) },
    undefined,
    "the cluster has ended its pod (NodeLost)",
  ],
  [
    "that is to make room is ended by the cluster, while it still runs",
    { phase: "Running", conditions: disrupted("True") },
    undefined,
    "the cluster has ended its pod (EvictionByEvictionAPI: the node is drained)",
  ],
  [
    "that was to make room and need not any more runs",
    { phase: "Running", conditions: disrupted("False") },
    undefined,
    undefined,
  ],
  [
    "of which the cluster says something while it runs has not ended",
    { phase: "Running", reason: "NodeNotReady" },
    undefined,
    undefined,
  ],
])("a pod %s", (_, status, deletionTimestamp, end) => {
  const metadata = { ...POD.metadata, ...(deletionTimestamp && { deletionTimestamp }) };
  expect(endOf({ ...POD, metadata, status }, "pod-1")).toEqual(end);
});

test("a pod that is not there any more was deleted by others", () => {
  expect(endOf(undefined, "pod-1")).toEqual(LOST);
});
