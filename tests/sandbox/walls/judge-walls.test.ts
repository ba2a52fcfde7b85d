import { describe, expect, it } from "vitest";
import { WALLS, type WallName } from "../../../sandbox/sandbox-profile.ts";
import { judgeWalls, type ProbeFacts, type WallEvidence } from "../../../sandbox/walls/judge-walls.ts";
import { ADVICE } from "../in-process-engine.ts";

const FACTS: ProbeFacts = {
  network: { interfaces: [], reached: { "1.1.1.1:80": "ENETUNREACH" } },
  writable: [["/", "EROFS"]],
  rootIsReadOnly: true,
  ids: [65_534],
  capabilities: { CapEff: "0000000000000000" },
  kernel: { noNewPrivileges: true, log: "<6>[   0.000000] Starting gVisor..." },
  mounts: ["/", "/proc", "/dev/shm", "/workspace", "/tmp", "/run/ptc", "/etc/resolv.conf"],
  devices: ["null", "zero", "urandom"],
  seen: [],
  engineSockets: [],
  socketFolder: ["broker.sock"],
  nameServers: "",
  files: 1_000,
  core: ["0", "0"],
  disk: { "/workspace": 64, "/tmp": 64, "/dev/shm": 16 },
  processors: 1,
  processes: { started: 20, refused: true },
};
const EVIDENCE: WallEvidence = {
  facts: FACTS,
  processors: { allowed: 1, present: 2 },
  keepsKernelUnprivileged: true,
  keepsOutput: false,
  remains: false,
  exceedsMemory: false,
  survivesKill: false,
  survivesOwner: false,
};

const judge = (evidence: WallEvidence) => judgeWalls(evidence, ADVICE.walls);
const verdictOf = (evidence: WallEvidence, wall: WallName) =>
  judge(evidence).find((finding) => finding.wall === wall);
const withFacts = (facts: Partial<ProbeFacts>): WallEvidence => ({
  ...EVIDENCE,
  facts: { ...FACTS, ...facts },
});

describe("judging walls", () => {
  it("tells of each whether it holds, in the order in which they are listed", () => {
    const findings = judge(EVIDENCE);
    expect(findings.map(({ wall }) => wall)).toEqual(Object.keys(WALLS));
    expect(findings.filter(({ verdict }) => verdict !== "holds")).toEqual([]);
  });

  it.each<[WallName, WallEvidence, string]>([
    [
      "kernel",
      withFacts({ kernel: { noNewPrivileges: true, log: "Linux version 6.1" } }),
      "the kernel that a program sees is not gVisor's",
    ],
    ["network", withFacts({ network: { interfaces: ["eth0"], reached: {} } }), "reached interface eth0"],
    ["network", withFacts({ network: { interfaces: [], reached: { "a name": "ok" } } }), "reached a name"],
    [
      "names",
      withFacts({ nameServers: "# a comment\nnameserver 192.0.2.1\n" }),
      "/etc/resolv.conf names servers",
    ],
    ["read-only", withFacts({ writable: [["/etc", "ok"]] }), "wrote to /etc"],
    ["read-only", withFacts({ rootIsReadOnly: false }), "the root is mounted writable"],
    ["user", withFacts({ ids: [65_534, 0] }), "runs as 0"],
    ["capabilities", withFacts({ capabilities: { CapBnd: "00000000a80425fb" } }), "CapBnd 00000000a80425fb"],
    [
      "new-privileges",
      withFacts({ kernel: { noNewPrivileges: false, log: "gVisor" } }),
      "no_new_privs is not set",
    ],
    ["mounts", withFacts({ mounts: ["/", "/srv"] }), "mounted are /srv"],
    ["files", withFacts({ seen: ["/home/somebody"] }), "sees /home/somebody"],
    ["engine", withFacts({ engineSockets: ["/run/docker.sock"] }), "sees /run/docker.sock"],
    ["engine", withFacts({ socketFolder: ["broker.sock", "docker.sock"] }), "sees docker.sock"],
    ["devices", withFacts({ devices: ["null", "kvm"] }), "has kvm"],
    ["processes", withFacts({ processes: { started: 80, refused: false } }), "started 80 processes at once"],
    ["disk", withFacts({ disk: { "/tmp": 256 } }), "wrote 256 MB to /tmp"],
    ["processors", withFacts({ processors: 1.9 }), "does the work of 1.9 processors"],
    ["open-files", withFacts({ files: 4_096 }), "opened 4096 files"],
    ["core", withFacts({ core: ["0", "unlimited"] }), "core dumps are allowed"],
    ["sentry", { ...EVIDENCE, keepsKernelUnprivileged: false }, ""],
    ["log", { ...EVIDENCE, keepsOutput: true }, ""],
    ["removal", { ...EVIDENCE, remains: true }, ""],
    ["memory", { ...EVIDENCE, exceedsMemory: true }, ""],
    ["time", { ...EVIDENCE, survivesKill: true }, ""],
    ["orphan", { ...EVIDENCE, survivesOwner: true }, ""],
  ])("sees that %s does not hold, and says why and what to do", (wall, evidence, why) => {
    const finding = verdictOf(evidence, wall);
    expect(finding).toMatchObject({ verdict: "does not hold" });
    expect(finding?.detail).toContain(`${why}; mend ${wall}`);
    expect(judge(evidence).filter(({ verdict }) => verdict === "does not hold")).toHaveLength(1);
  });

  it("does not guess: what was not tried could not be told, and why", () => {
    const findings = judge({ processors: EVIDENCE.processors, problem: "no engine answers" });
    expect(new Set(findings.map(({ verdict }) => verdict))).toEqual(new Set(["could not be told"]));
    expect(new Set(findings.map(({ detail }) => detail))).toEqual(new Set(["no engine answers"]));
  });

  it("cannot tell of gVisor's kernel where it is not on this machine", () => {
    const evidence = { ...EVIDENCE, keepsKernelUnprivileged: undefined };
    expect(verdictOf(evidence, "sentry")).toMatchObject({
      verdict: "could not be told",
      detail: expect.stringMatching(/on another machine or in a virtual one/),
    });
  });

  it("cannot tell of processors where there are no more than are allowed", () => {
    const evidence = { ...EVIDENCE, processors: { allowed: 2, present: 2 } };
    expect(verdictOf(evidence, "processors")).toMatchObject({ verdict: "could not be told" });
  });
});
