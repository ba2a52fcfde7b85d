import { expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { endOf } from "../../../sandbox/kubernetes/pod-sandbox.ts";
import {
  isImageNamed,
  PodSpec,
  problemsOfPod,
  programPodSpec,
  quantity,
} from "../../../sandbox/kubernetes/program-pod.ts";

const START = RUNNER_STARTS.javascript;
const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const IMAGE = `registry.example.com/team/ptc-runner:1@sha256:${"ab".repeat(32)}`;
const GOOD = programPodSpec({
  image: IMAGE,
  runtimeClass: "gvisor",
  start: START,
  limits: LIMITS,
  certificates: "keys",
});
const [CONTAINER] = GOOD.containers;

test("a pod of the specification that ptc makes can be used", () => {
  expect(problemsOfPod(PodSpec.parse(GOOD), START, LIMITS)).toEqual([]);
});

test("a pod for another language or other limits is refused by its command", () => {
  const spec = PodSpec.parse(GOOD);
  expect(problemsOfPod(spec, RUNNER_STARTS.python, LIMITS)).toEqual([
    expect.stringContaining("command must be"),
  ]);
  const less = problemsOfPod(spec, START, { ...LIMITS, memoryMb: 256 });
  expect(less).toEqual([
    expect.stringContaining("command must be"),
    "resources.limits.memory must be 320Mi or less",
  ]);
});

test.each<[what: string, change: object, container: object, problem: RegExp]>([
  ["a second container", { containers: [CONTAINER, CONTAINER] }, {}, /no container but one/],
  ["an init container", { initContainers: [{}] }, {}, /no container but one/],
  ["a container for debugging", { ephemeralContainers: [{}] }, {}, /debugging/],
  ["a service account token", { automountServiceAccountToken: true }, {}, /automountServiceAccountToken/],
  ["the node's network", { hostNetwork: true }, {}, /share no namespace/],
  ["the node's processes", { hostPID: true }, {}, /share no namespace/],
  ["one namespace for all its processes", { shareProcessNamespace: true }, {}, /shareProcessNamespace/],
  ["an image without a digest", {}, { image: "ptc-runner:latest" }, /digest/],
  ["other arguments", {}, { args: ["--weaker"] }, /command/],
  ["privileges", {}, { securityContext: { ...CONTAINER?.securityContext, privileged: true } }, /privileged/],
  [
    "a capability",
    {},
    {
      securityContext: { ...CONTAINER?.securityContext, capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } },
    },
    /capabilities/,
  ],
  ["another user", {}, { securityContext: { ...CONTAINER?.securityContext, runAsUser: 1_000 } }, /runAsUser/],
  ["no limit of memory", {}, { resources: { limits: { cpu: "1" } } }, /memory must be 576Mi/],
  ["more processors", {}, { resources: { limits: { cpu: "1500m", memory: "576Mi" } } }, /cpu must be 1 /],
  [
    "a folder of its node",
    {},
    { volumeMounts: [{ name: "host", mountPath: "/host" }] },
    /nothing may be mounted/,
  ],
])("a pod with %s is refused", (_what, change, container, problem) => {
  const spec = { ...GOOD, containers: [{ ...CONTAINER, ...container }], ...change };
  expect(problemsOfPod(PodSpec.parse(spec), START, LIMITS).join("; ")).toMatch(problem);
});

test.each([
  ["500m", 0.5],
  ["2", 2],
  ["576Mi", 576 * 1024 * 1024],
  ["1Gi", 1024 ** 3],
  ["1e3", 1_000],
  ["64Xi", Number.NaN],
  ["", Number.NaN],
  ["-1", Number.NaN],
])("the quantity %j is %d", (text, number) => {
  expect(quantity(text)).toBe(number);
});

test("an image is known by its name with and without registry, tag and digest, and by no other", () => {
  const names = [
    IMAGE,
    "registry.example.com/team/ptc-runner:1",
    "registry.example.com/team/ptc-runner",
    "ptc-runner",
  ];
  expect(names.filter((name) => !isImageNamed(IMAGE, name))).toEqual([]);
  expect(isImageNamed(IMAGE, "runner")).toBe(false);
});

const pod = (status: object, metadata: object = {}) => ({
  metadata: { name: "p", uid: "u", ...metadata },
  spec: PodSpec.parse(GOOD),
  status,
});
const terminated = (exitCode: number, reason = "Error") => ({
  containerStatuses: [{ state: { terminated: { exitCode, reason } } }],
});

const DELETED = {
  ...{ code: 137, isKilledByOthers: true },
  killedBy: expect.stringMatching(/^with its pod p, .* run the program again/),
};

test.each<[what: string, given: Parameters<typeof endOf>[0], want: ReturnType<typeof endOf>]>([
  ["that runs has not ended", pod({ phase: "Running" }), undefined],
  ["that is gone was killed by others", undefined, DELETED],
  [
    "killed for its memory has used too much",
    pod({ phase: "Failed", ...terminated(137, "OOMKilled") }),
    { code: 137 },
  ],
  [
    "whose process ended by itself has its exit code",
    pod({ phase: "Failed", ...terminated(120) }),
    { code: 120 },
  ],
  [
    "that is being deleted was killed by others",
    pod({ phase: "Running" }, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    DELETED,
  ],
  [
    "that the cluster evicts ends with the cluster's reason",
    pod({ phase: "Failed", reason: "Evicted", message: "the node was low on memory", ...terminated(137) }),
    "the cluster has ended its pod (Evicted: the node was low on memory)",
  ],
])("a pod %s", (_what, given, want) => {
  expect(endOf(given, "p")).toEqual(want);
});
