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
    for (const { wall, required, detail } of findings)
      expect([required, detail]).toEqual([WALLS[wall].required, `a program cannot ${WALLS[wall].keeps}`]);
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
      "network",
      withFacts({ network: { interfaces: ["eth0", "eth1"], reached: { a: "ok", b: "EPERM", c: "ok" } } }),
      "reached a, c, interface eth0, interface eth1",
    ],
    [
      "names",
      withFacts({ nameServers: "# a comment\nnameserver 192.0.2.1\n" }),
      "/etc/resolv.conf names servers",
    ],
    ["read-only", withFacts({ writable: [["/etc", "ok"]] }), "wrote to /etc"],
    [
      "read-only",
      withFacts({
        writable: [
          ["/etc", "ok"],
          ["/usr", "EROFS"],
          ["/opt", "ok"],
        ],
      }),
      "wrote to /etc, /opt",
    ],
    ["read-only", withFacts({ rootIsReadOnly: false }), "the root is mounted writable"],
    ["user", withFacts({ ids: [65_534, 0] }), "runs as 0"],
    ["user", withFacts({ ids: [0, 5, 0, 65_534] }), "runs as 0, 5"],
    [
      "capabilities",
      withFacts({ capabilities: { CapEff: "0000000000000001", CapPrm: "0", CapBnd: "10" } }),
      "CapEff 0000000000000001, CapBnd 10",
    ],
    ["capabilities", withFacts({ capabilities: { CapBnd: "00000000a80425fb" } }), "CapBnd 00000000a80425fb"],
    [
      "new-privileges",
      withFacts({ kernel: { noNewPrivileges: false, log: "gVisor" } }),
      "no_new_privs is not set",
    ],
    ["mounts", withFacts({ mounts: ["/", "/srv"] }), "mounted are /srv"],
    [
      "mounts",
      withFacts({ mounts: ["/processes", "/etc/hosts.d", "/x/etc/hosts", "/x/dev"] }),
      "mounted are /processes, /etc/hosts.d, /x/etc/hosts, /x/dev",
    ],
    ["files", withFacts({ seen: ["/home/somebody"] }), "sees /home/somebody"],
    ["files", withFacts({ seen: ["/home/a", "/home/b"] }), "sees /home/a, /home/b"],
    ["engine", withFacts({ engineSockets: ["/run/docker.sock"] }), "sees /run/docker.sock"],
    ["engine", withFacts({ socketFolder: ["broker.sock", "docker.sock"] }), "sees docker.sock"],
    ["devices", withFacts({ devices: ["null", "kvm"] }), "has kvm"],
    ["devices", withFacts({ devices: ["nullx", "xnull", "stdio"] }), "has nullx, xnull, stdio"],
    ["processes", withFacts({ processes: { started: 80, refused: false } }), "started 80 processes at once"],
    ["disk", withFacts({ disk: { "/tmp": 256 } }), "wrote 256 MB to /tmp"],
    ["disk", withFacts({ disk: { "/tmp": 66, "/srv": 1 } }), "wrote 66 MB to /tmp, wrote 1 MB to /srv"],
    ["processors", withFacts({ processors: 1.9 }), "does the work of 1.9 processors"],
    ["processors", withFacts({ processors: 1.51 }), "does the work of 1.5 processors"],
    ["open-files", withFacts({ files: 4_096 }), "opened 4096 files"],
    ["open-files", withFacts({ files: 1_025 }), "opened 1025 files"],
    ["core", withFacts({ core: ["0", "unlimited"] }), "core dumps are allowed"],
    [
      "sentry",
      { ...EVIDENCE, keepsKernelUnprivileged: false },
      "the process of gVisor's kernel is root on the host, or has capabilities there",
    ],
    ["log", { ...EVIDENCE, keepsOutput: true }, "the engine keeps what a program prints"],
    ["removal", { ...EVIDENCE, remains: true }, "a container that has ended stays"],
    ["memory", { ...EVIDENCE, exceedsMemory: true }, "a program used more memory than it has"],
    ["time", { ...EVIDENCE, survivesKill: true }, "a program that was killed went on"],
    ["orphan", { ...EVIDENCE, survivesOwner: true }, "a program went on without ptc"],
  ])("sees that %s does not hold, and says why and what to do", (wall, evidence, why) => {
    const finding = verdictOf(evidence, wall);
    expect(finding).toMatchObject({ verdict: "does not hold", detail: `${why}; mend ${wall}` });
    expect(judge(evidence).filter(({ verdict }) => verdict === "does not hold")).toHaveLength(1);
  });

  it.each<[string, Partial<ProbeFacts>]>([
    [
      "files that each container has",
      { mounts: ["/sys/fs", "/dev", "/etc/hostname", "/etc/hosts", "/tmp/termination-log"] },
    ],
    [
      "devices that each container has",
      { devices: ["char", "tty", "ptmx", "fd", "stdin", "stdout", "stderr", "fuse"] },
    ],
    ["as much as it may write, with what the file system needs itself", { disk: { "/tmp": 65, "/srv": 0 } }],
    ["the work of one processor, measured roughly", { processors: 1.5 }],
    ["as many files as it may open", { files: 1_024 }],
    ["an empty folder for its socket", { socketFolder: [] }],
  ])("a wall holds where a program has %s", (_, facts) => {
    expect(judge(withFacts(facts)).filter(({ verdict }) => verdict !== "holds")).toEqual([]);
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
