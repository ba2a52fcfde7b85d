import * as z from "zod/mini";
import {
  type EngineAdvice,
  MAX_OPEN_FILES,
  NOBODY,
  SCRATCH,
  WALLS,
  type WallName,
} from "../sandbox-profile.ts";

/** The result of probe.js: what a program can observe inside a sandbox. */
export const ProbeFacts = z.object({
  network: z.object({ interfaces: z.array(z.string()), reached: z.record(z.string(), z.string()) }),
  writable: z.array(z.tuple([z.string(), z.string()])),
  rootIsReadOnly: z.boolean(),
  ids: z.array(z.int()),
  capabilities: z.record(z.string(), z.string()),
  kernel: z.optional(z.object({ noNewPrivileges: z.boolean(), log: z.string() })),
  mounts: z.array(z.string()),
  devices: z.array(z.string()),
  seen: z.array(z.string()),
  engineSockets: z.array(z.string()),
  socketFolder: z.array(z.string()),
  nameServers: z.string(),
  files: z.int(),
  core: z.optional(z.tuple([z.string(), z.string()])),
  disk: z.record(z.string(), z.int()),
  processors: z.number(),
  processes: z.object({ started: z.int(), refused: z.boolean() }),
});
export type ProbeFacts = z.infer<typeof ProbeFacts>;

/** The results of the experiments. Members are absent if they could not be tried; `problem` then says why. */
export interface WallEvidence {
  facts?: ProbeFacts | undefined;
  /** The numbers of processors that the profile allows and that the host has. */
  processors: { allowed: number; present: number };
  /** Whether the sandbox's own kernel is a process without rights on its host. */
  keepsKernelUnprivileged?: boolean | undefined;
  /** Whether the engine stores a container's output. */
  keepsOutput?: boolean | undefined;
  /** Whether a container was still listed after its removal. */
  remains?: boolean | undefined;
  /** Whether a program could use twice its memory. */
  exceedsMemory?: boolean | undefined;
  /** Whether a busy program survived being killed. */
  survivesKill?: boolean | undefined;
  /** Whether a program that resists ending survived the end of ptc's connection. */
  survivesOwner?: boolean | undefined;
  problem?: string;
}

export interface WallFinding {
  wall: WallName;
  required: boolean;
  verdict: "holds" | "does not hold" | "could not be told";
  detail: string;
}

/** The last one exists in a pod, hidden under the program's own /tmp. */
const MOUNTS: ReadonlySet<string> = new Set([
  "/",
  "/proc",
  "/workspace",
  "/tmp",
  "/run/ptc",
  "/tmp/termination-log",
]);
/** Mounts that the engine or the kernel adds to every container. */
const USUAL_MOUNTS = /^\/(?:proc|sys|dev)(?:\/|$)|^\/etc\/(?:resolv\.conf|hosts|hostname)$/;
/** `char` contains links to the others, by number. */
const DEVICES =
  /^(?:char|null|zero|full|random|urandom|tty|console|ptmx|pts|shm|mqueue|fd|std(?:in|out|err)|core|net|fuse)$/;
/** Room for a file system's own data. */
const ROOM_MB = 1;
/** Threads measure processors only roughly. From this factor on, another processor must be at work. */
const MORE_PROCESSORS = 1.5;

/** Why a wall that cannot be seen from inside could not be judged. */
const UNSEEN: Partial<Record<WallName, string>> = {
  sentry:
    "no process of gVisor's kernel can be seen from here: the engine is on another machine or in a virtual one, or the runtime is not gVisor",
};

type Told = { holds: boolean; detail: string } | undefined;

/**
 * Decides for every wall whether it holds, or that this is not known because it was not tried. Pure.
 *
 * @param advice the engine's advice for walls that do not hold.
 * @param lacks walls that the engine has not, by design, each with what is missing.
 */
export function judgeWalls(
  evidence: WallEvidence,
  advice: EngineAdvice["walls"],
  lacks: Partial<Readonly<Record<WallName, string>>> = {},
): WallFinding[] {
  const told = { ...judgeFacts(evidence), ...judgeLives(evidence) };
  return (Object.keys(WALLS) as WallName[]).map((wall) => {
    const { required, keeps } = WALLS[wall];
    const missing = lacks[wall];
    if (missing !== undefined)
      return { wall, required: false, verdict: "does not hold", detail: `${missing}; ${advice[wall]}` };
    const verdict = told[wall];
    if (verdict === undefined) {
      const why = evidence.problem ?? UNSEEN[wall] ?? "it cannot be seen from inside here";
      return { wall, required, verdict: "could not be told", detail: why };
    }
    if (verdict.holds) return { wall, required, verdict: "holds", detail: `a program cannot ${keeps}` };
    return { wall, required, verdict: "does not hold", detail: `${verdict.detail}; ${advice[wall]}` };
  });
}

function judgeLives(evidence: WallEvidence): Partial<Record<WallName, Told>> {
  const unless = (bad: boolean | undefined, detail: string): Told =>
    bad === undefined ? undefined : { holds: !bad, detail };
  const isPrivileged =
    evidence.keepsKernelUnprivileged === undefined ? undefined : !evidence.keepsKernelUnprivileged;
  return {
    sentry: unless(
      isPrivileged,
      "the process of gVisor's kernel is root on the host, or has capabilities there",
    ),
    log: unless(evidence.keepsOutput, "the engine keeps what a program prints"),
    removal: unless(evidence.remains, "a container that has ended stays"),
    memory: unless(evidence.exceedsMemory, "a program used more memory than it has"),
    time: unless(evidence.survivesKill, "a program that was killed went on"),
    orphan: unless(evidence.survivesOwner, "a program went on without ptc"),
  };
}

function judgeFacts({ facts, processors }: WallEvidence): Partial<Record<WallName, Told>> {
  if (facts === undefined) return {};
  const { network, kernel, core } = facts;
  const reached = Object.entries(network.reached).flatMap(([what, came]) => (came === "ok" ? [what] : []));
  const written = facts.writable.flatMap(([folder, came]) => (came === "ok" ? [folder] : []));
  const others = [...new Set(facts.ids)].filter((id) => id !== NOBODY);
  const held = Object.entries(facts.capabilities).filter(([, set]) => !/^0*$/.test(set));
  const foreign = facts.mounts.filter((path) => !MOUNTS.has(path) && !USUAL_MOUNTS.test(path));
  const more = facts.devices.filter((name) => !DEVICES.test(name));
  const wide = Object.entries(facts.disk).filter(([folder, mb]) => mb > roomIn(folder));
  const sockets = [...facts.engineSockets, ...facts.socketFolder.filter((name) => name !== "broker.sock")];
  return {
    kernel: kernel && {
      holds: /gVisor/.test(kernel.log),
      detail: "the kernel that a program sees is not gVisor's",
    },
    network: {
      holds: reached.length === 0 && network.interfaces.length === 0,
      detail: `reached ${[...reached, ...network.interfaces.map((name) => `interface ${name}`)].join(", ")}`,
    },
    names: { holds: !/^\s*nameserver/m.test(facts.nameServers), detail: "/etc/resolv.conf names servers" },
    "read-only": {
      holds: written.length === 0 && facts.rootIsReadOnly,
      detail: written.length === 0 ? "the root is mounted writable" : `wrote to ${written.join(", ")}`,
    },
    user: { holds: others.length === 0, detail: `runs as ${others.join(", ")}` },
    capabilities: { holds: held.length === 0, detail: held.map((pair) => pair.join(" ")).join(", ") },
    "new-privileges": kernel && { holds: kernel.noNewPrivileges, detail: "no_new_privs is not set" },
    mounts: { holds: foreign.length === 0, detail: `mounted are ${foreign.join(", ")}` },
    files: { holds: facts.seen.length === 0, detail: `sees ${facts.seen.join(", ")}` },
    engine: { holds: sockets.length === 0, detail: `sees ${sockets.join(", ")}` },
    devices: { holds: more.length === 0, detail: `has ${more.join(", ")}` },
    processes: {
      holds: facts.processes.refused,
      detail: `started ${facts.processes.started} processes at once`,
    },
    disk: {
      holds: wide.length === 0,
      detail: wide.map(([folder, mb]) => `wrote ${mb} MB to ${folder}`).join(", "),
    },
    processors:
      processors.present > processors.allowed
        ? {
            holds: facts.processors <= processors.allowed * MORE_PROCESSORS,
            detail: `does the work of ${facts.processors.toFixed(1)} processors`,
          }
        : undefined,
    "open-files": { holds: facts.files <= MAX_OPEN_FILES, detail: `opened ${facts.files} files` },
    core: core && { holds: core.every((limit) => limit === "0"), detail: "core dumps are allowed" },
  };
}

/** The maximum number of megabytes that a program may write to a folder. */
function roomIn(folder: string): number {
  const scratch = SCRATCH.find(({ path }) => path === folder);
  return scratch === undefined ? 0 : scratch.megabytes + ROOM_MB;
}
