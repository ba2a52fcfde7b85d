/**
 * The pod of one program: the profile of a sandbox (../sandbox-profile.ts) as a pod's specification, and what of a given
 * specification is not so. Pure.
 *
 * Pods are made by the cluster from a SandboxTemplate that an operator has put there, long before ptc knows the program. So ptc
 * cannot say what a pod is like; it can look. A pod that lacks a wall is not used, and what is missing is named.
 *
 * What a pod's specification has no field for is the guard's to do (`GUARD_ALONE`): there is no network for the program although
 * the pod has one, limits of its processes and files, the sizes of its folders, and nothing of the files that the kubelet mounts.
 */

import * as z from "zod/mini";
import { GUARD_ALONE, GUARD_WALLS } from "../../protocol/guard.ts";
import {
  LAUNCHER_CERTIFICATES,
  LAUNCHER_COMMAND_MARK,
  LAUNCHER_PATH,
  LAUNCHER_POD_VARIABLE,
  LAUNCHER_PORT,
} from "../../protocol/launcher.ts";
import type { RunnerStart } from "../../protocol/runners.ts";
import { type SandboxLimits, sandboxProfile } from "../sandbox-profile.ts";

/** The launcher and its Node.js are in the same pod, and count for its memory. */
const LAUNCHER_MB = 64;
const MB = 1024 * 1024;
const NODE = "/usr/local/bin/node";
/** What the kubelet mounts into every pod and no program needs. */
const HIDDEN = [LAUNCHER_CERTIFICATES, "/etc/resolv.conf", "/etc/hosts", "/etc/hostname"];
/** The file lies under a folder that the program has its own of: it could write there without end. */
const TERMINATION_MESSAGE = "/tmp/termination-log";
const CONTAINER = "program";

export interface ProgramPod {
  /** With its digest: `NAME@sha256:...`. */
  image: string;
  runtimeClass: string;
  start: RunnerStart;
  limits: SandboxLimits;
  /** The Secret with the launcher's `ca.crt`, `tls.crt` and `tls.key`; without one, the launcher takes no connection over the network. */
  certificates?: string | undefined;
  /** What the scheduler reserves for a pod that waits. */
  requests?: { cpu: string; memory: string } | undefined;
  imagePullPolicy?: "Always" | "IfNotPresent" | "Never" | undefined;
}

/** The container's command line. */
function programCommand(start: RunnerStart, limits: SandboxLimits): string[] {
  const profile = sandboxProfile(start, limits, "direct");
  return [
    NODE,
    LAUNCHER_PATH,
    ...profile.environment,
    LAUNCHER_COMMAND_MARK,
    ...profile.guard,
    GUARD_ALONE,
    ...Object.entries(profile.resourceLimits).map(([name, limit]) => GUARD_WALLS.limit(name, limit)),
    ...profile.scratch.map(({ path, megabytes }) => GUARD_WALLS.scratch(path, megabytes)),
    ...HIDDEN.map((path) => GUARD_WALLS.hide(path)),
    ...profile.runner,
  ];
}

/** The specification of the pod, for `podTemplate.spec` of a SandboxTemplate. */
export function programPodSpec({
  image,
  runtimeClass,
  start,
  limits,
  certificates,
  requests = { cpu: "10m", memory: "64Mi" },
  imagePullPolicy = "IfNotPresent",
}: ProgramPod) {
  const profile = sandboxProfile(start, limits, "direct");
  const { uid, gid } = profile.user;
  const volume = "certificates";
  return {
    runtimeClassName: runtimeClass,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    restartPolicy: "Never",
    hostname: profile.hostname,
    dnsPolicy: "Default",
    terminationGracePeriodSeconds: 0,
    securityContext: {
      runAsNonRoot: true,
      runAsUser: uid,
      runAsGroup: gid,
      fsGroup: gid,
      seccompProfile: { type: "RuntimeDefault" },
    },
    containers: [
      {
        name: CONTAINER,
        image,
        imagePullPolicy,
        command: programCommand(start, limits),
        env: [{ name: LAUNCHER_POD_VARIABLE, valueFrom: { fieldRef: { fieldPath: "metadata.uid" } } }],
        ports: [{ name: "launcher", containerPort: LAUNCHER_PORT }],
        terminationMessagePath: TERMINATION_MESSAGE,
        securityContext: {
          allowPrivilegeEscalation: profile.mayGainPrivileges as boolean,
          readOnlyRootFilesystem: profile.isRootReadOnly as boolean,
          capabilities: { drop: ["ALL"] },
        },
        resources: {
          requests,
          limits: { cpu: String(profile.cpus), memory: `${limits.memoryMb + LAUNCHER_MB}Mi` },
        },
        ...(certificates !== undefined && {
          volumeMounts: [{ name: volume, mountPath: LAUNCHER_CERTIFICATES, readOnly: true }],
        }),
      },
    ],
    ...(certificates !== undefined && {
      volumes: [{ name: volume, secret: { secretName: certificates, defaultMode: 0o440 } }],
    }),
  };
}

const SecurityContext = z.object({
  runAsNonRoot: z.optional(z.boolean()),
  runAsUser: z.optional(z.int()),
  runAsGroup: z.optional(z.int()),
  privileged: z.optional(z.boolean()),
  allowPrivilegeEscalation: z.optional(z.boolean()),
  readOnlyRootFilesystem: z.optional(z.boolean()),
  capabilities: z.optional(
    z.object({ add: z.optional(z.array(z.string())), drop: z.optional(z.array(z.string())) }),
  ),
});
const Container = z.object({
  name: z.string(),
  image: z.optional(z.string()),
  command: z.optional(z.array(z.string())),
  args: z.optional(z.array(z.string())),
  env: z.optional(
    z.array(
      z.object({
        name: z.string(),
        valueFrom: z.optional(
          z.object({ fieldRef: z.optional(z.object({ fieldPath: z.optional(z.string()) })) }),
        ),
      }),
    ),
  ),
  stdin: z.optional(z.boolean()),
  terminationMessagePath: z.optional(z.string()),
  securityContext: z.optional(SecurityContext),
  resources: z.optional(
    z.object({ limits: z.optional(z.record(z.string(), z.union([z.string(), z.number()]))) }),
  ),
  volumeMounts: z.optional(z.array(z.object({ name: z.string(), mountPath: z.string() }))),
  volumeDevices: z.optional(z.array(z.unknown())),
});

/** As much of a pod's specification as the walls depend on. */
export const PodSpec = z.object({
  runtimeClassName: z.optional(z.string()),
  automountServiceAccountToken: z.optional(z.boolean()),
  restartPolicy: z.optional(z.string()),
  hostname: z.optional(z.string()),
  hostNetwork: z.optional(z.boolean()),
  hostPID: z.optional(z.boolean()),
  hostIPC: z.optional(z.boolean()),
  shareProcessNamespace: z.optional(z.boolean()),
  securityContext: z.optional(SecurityContext),
  containers: z.array(Container),
  initContainers: z.optional(z.array(z.unknown())),
  ephemeralContainers: z.optional(z.array(z.unknown())),
  volumes: z.optional(z.array(z.looseObject({ name: z.string() }))),
});
export type PodSpec = z.infer<typeof PodSpec>;

/**
 * What keeps a pod of this specification from being the sandbox of a program with this runner and these limits: one phrase for
 * each field, with what it has to be. Empty where it can be used.
 */
export function problemsOfPod(spec: PodSpec, start: RunnerStart, limits: SandboxLimits): string[] {
  const wanted = programPodSpec({ image: "", runtimeClass: "", start, limits });
  const [wantedContainer] = wanted.containers;
  const [container, ...more] = spec.containers;
  if (container === undefined || wantedContainer === undefined) return ["it has no container"];
  // What is not said for the container is said for the pod.
  const own = { ...spec.securityContext, ...container.securityContext };
  const { memory, cpu } = container.resources?.limits ?? {};
  const mounts = (container.volumeMounts ?? []).map(({ mountPath }) => mountPath);
  const checks: [isSo: boolean, wanted: string][] = [
    [more.length === 0 && isNone(spec.initContainers), "it must have no container but one"],
    [isNone(spec.ephemeralContainers), "nobody may have added a container for debugging"],
    [digestOf(container.image) !== undefined, "image must name a digest (NAME@sha256:...)"],
    [
      isSame(container.command, wantedContainer.command) && isNone(container.args),
      `command must be that of this ptc for execution.memory_mb ${limits.memoryMb} and execution.pids ${limits.pids}`,
    ],
    [
      container.env?.some(
        ({ name, valueFrom }) =>
          name === LAUNCHER_POD_VARIABLE && valueFrom?.fieldRef?.fieldPath === "metadata.uid",
      ) === true,
      `env must have ${LAUNCHER_POD_VARIABLE} from the field metadata.uid`,
    ],
    [spec.automountServiceAccountToken === false, "automountServiceAccountToken must be false"],
    [spec.restartPolicy === wanted.restartPolicy, "restartPolicy must be Never"],
    [spec.hostname === wanted.hostname, `hostname must be ${wanted.hostname}`],
    [!(spec.hostNetwork || spec.hostPID || spec.hostIPC), "it must share no namespace with its node"],
    [spec.shareProcessNamespace !== true, "shareProcessNamespace must be off"],
    [own.runAsNonRoot === true, "runAsNonRoot must be true"],
    [
      own.runAsUser === wanted.securityContext.runAsUser,
      `runAsUser must be ${wanted.securityContext.runAsUser}`,
    ],
    [
      own.runAsGroup === wanted.securityContext.runAsGroup,
      `runAsGroup must be ${wanted.securityContext.runAsGroup}`,
    ],
    [own.privileged !== true, "it must not be privileged"],
    [own.allowPrivilegeEscalation === false, "allowPrivilegeEscalation must be false"],
    [own.readOnlyRootFilesystem === true, "readOnlyRootFilesystem must be true"],
    [
      own.capabilities?.drop?.includes("ALL") === true && isNone(own.capabilities.add),
      "capabilities must drop ALL and add none",
    ],
    [
      container.terminationMessagePath === TERMINATION_MESSAGE,
      `terminationMessagePath must be ${TERMINATION_MESSAGE}`,
    ],
    [
      isQuantity(memory) && quantity(memory) <= (limits.memoryMb + LAUNCHER_MB) * MB,
      `resources.limits.memory must be ${wantedContainer.resources.limits.memory} or less`,
    ],
    [
      isQuantity(cpu) && quantity(cpu) <= limits.cpus,
      `resources.limits.cpu must be ${wantedContainer.resources.limits.cpu} or less`,
    ],
    [
      mounts.every((path) => path === LAUNCHER_CERTIFICATES) && isNone(container.volumeDevices),
      `nothing may be mounted but ${LAUNCHER_CERTIFICATES}`,
    ],
  ];
  return checks.flatMap(([isSo, phrase]) => (isSo ? [] : [phrase]));
}

/** Whether a launcher of this specification takes connections over the network. */
export function hasCertificates({ containers: [container] }: PodSpec): boolean {
  return container?.volumeMounts?.some(({ mountPath }) => mountPath === LAUNCHER_CERTIFICATES) === true;
}

/** The digest in an image's name. */
export function digestOf(image: string | undefined): string | undefined {
  return /@(sha256:[0-9a-f]{64})$/.exec(image ?? "")?.[1];
}

/** Whether somebody means this image by a name: with or without registry, tag and digest. */
export function isImageNamed(image: string, name: string): boolean {
  const repository = image.replace(/@.*$/, "").replace(/:[\w.-]+$/, "");
  return [
    image,
    image.replace(/@.*$/, ""),
    repository,
    repository.split("/").at(-1),
    digestOf(image),
  ].includes(name);
}

function isNone(list: readonly unknown[] | undefined): boolean {
  return list === undefined || list.length === 0;
}

function isSame(one: readonly string[] | undefined, other: readonly string[]): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

const FACTORS: Readonly<Record<string, number>> = {
  m: 1e-3,
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

function isQuantity(value: string | number | undefined): value is string | number {
  return value !== undefined && Number.isFinite(quantity(value));
}

/** A quantity of Kubernetes, such as `500m` or `576Mi`, as a number of processors or bytes; NaN for another text. */
export function quantity(value: string | number): number {
  const [, digits = "", suffix = ""] = /^(\d+(?:\.\d+)?(?:e\d+)?)([A-Za-z]{0,2})$/.exec(String(value)) ?? [];
  return digits === "" ? Number.NaN : Number(digits) * (FACTORS[suffix] ?? Number.NaN);
}
