import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import {
  SANDBOX_SOCKET_DIRECTORY,
  SOCKET_FILE_NAME,
  STDERR_FILE_NAME,
  STDOUT_FILE_NAME,
} from "../../../protocol/runners.ts";
import type { ContainerRequest } from "../../../sandbox/docker/container-profile.ts";
import type { ContainerEngine } from "../../../sandbox/docker/docker-engine.ts";
import { DockerEngine } from "../../../sandbox/docker/docker-engine.ts";
import { DockerSandboxEngine, OWNER_LABEL } from "../../../sandbox/docker/docker-sandbox-engine.ts";
import { KnownWalls } from "../../../sandbox/known-walls.ts";
import { WALLS, type WallName } from "../../../sandbox/sandbox-profile.ts";
import { SandboxStarter } from "../../../sandbox/sandbox-starter.ts";
import { judgeWalls, type WallFinding } from "../../../sandbox/walls/judge-walls.ts";
import { tryWalls } from "../../../sandbox/walls/try-walls.ts";
import { currentProcess, formatIdentity } from "../../../system/process-identity.ts";
import { StateDirectory } from "../../../system/state-directory.ts";
import { describeDocker } from "../in-sandbox.ts";

const REPOSITORY = join(import.meta.dirname, "../../..");
const docker = new DockerEngine();
const self = currentProcess();
const owner = formatIdentity(self);
const base = mkdtempSync(join(tmpdir(), "ptc-planted-"));
afterAll(() => rmSync(base, { recursive: true }));

/** How long it takes to find that a sandbox does not end. */
const DOES_NOT_END_MS = 3_000;

/** An engine that leaves something out of what it is asked for. */
function weakened(change: (request: ContainerRequest) => void, killing = true): ContainerEngine {
  return {
    describe: () => docker.describe(),
    findImage: (reference) => docker.findImage(reference),
    listLabelled: (label) => docker.listLabelled(label),
    keepsOutput: (id) => docker.keepsOutput(id),
    findSentry: (id) => docker.findSentry(id),
    remove: (id) => docker.remove(id),
    start: async (request, output) => {
      const copy = structuredClone(request);
      change(copy);
      const container = await docker.start(copy, output);
      return killing ? container : Object.assign(container, { kill: async () => {} });
    },
  };
}

async function find(engine: ContainerEngine, endPatienceMs?: number): Promise<Map<WallName, WallFinding>> {
  const state = new StateDirectory(base, self);
  const weak = new DockerSandboxEngine(engine, { folder: state.path, runners: RUNNER_STARTS });
  const evidence = await tryWalls({
    engine: weak,
    owner,
    image: "ptc-runner",
    runtime: "runsc",
    limits: { memoryMb: 512, cpus: 1, pids: 256 },
    probe: readFileSync(join(REPOSITORY, "sandbox/walls/probe.js"), "utf8"),
    hostPaths: [REPOSITORY, import.meta.filename],
    ...(endPatienceMs === undefined ? {} : { endPatienceMs }),
  });
  state.remove();
  return new Map(judgeWalls(evidence, weak.advice.walls).map((finding) => [finding.wall, finding]));
}

/** Connects a runner as the guard does, and then is the runner. */
const CONNECT = `
  $^F = 1024;
  my @sockets = map {
    socket my $socket, 1, 1, 0;
    connect $socket, pack("S a*", 1, "${SANDBOX_SOCKET_DIRECTORY}/$_\\0") or die $!;
    $socket;
  } qw(${SOCKET_FILE_NAME} ${STDOUT_FILE_NAME} ${STDERR_FILE_NAME});
  open STDOUT, ">&", $sockets[1];
  open STDERR, ">&", $sockets[2];
  exec @ARGV, "--channel=" . fileno $sockets[0];`;

function withoutGuard(request: ContainerRequest): void {
  request.Entrypoint = ["/usr/bin/perl", "-e", CONNECT];
}

function without(request: ContainerRequest, ulimit: string): void {
  request.HostConfig.Ulimits = request.HostConfig.Ulimits.filter(({ Name }) => Name !== ulimit);
}

function mount(request: ContainerRequest, source: string, target: string): void {
  const { Mounts } = request.HostConfig;
  const others = Mounts.filter(({ Target }) => Target !== target);
  request.HostConfig.Mounts = [...others, { Type: "bind", Source: source, Target: target, ReadOnly: true }];
}

/** A change to one line of the profile, or a few, by the walls that fall with it. */
type Planted = { wall: WallName; change: (request: ContainerRequest) => void };

const IN_GVISOR: Planted[] = [
  {
    wall: "names",
    change: (request) => {
      const file = join(base, "resolv.conf");
      writeFileSync(file, "nameserver 192.0.2.1\n", { mode: 0o644 });
      mount(request, file, "/etc/resolv.conf");
    },
  },
  {
    wall: "read-only",
    change: ({ HostConfig }) => {
      HostConfig.ReadonlyRootfs = false;
    },
  },
  { wall: "mounts", change: (request) => mount(request, REPOSITORY, "/mnt") },
  { wall: "files", change: (request) => mount(request, REPOSITORY, REPOSITORY) },
  { wall: "engine", change: (request) => mount(request, "/dev/null", "/run/docker.sock") },
  {
    wall: "memory",
    change: ({ HostConfig }) => {
      HostConfig.Memory = 0;
      HostConfig.MemorySwap = 0;
    },
  },
  {
    wall: "processes",
    change: (request) => {
      without(request, "nproc");
      request.HostConfig.PidsLimit = 0;
    },
  },
  {
    wall: "disk",
    change: ({ HostConfig }) => {
      HostConfig.Tmpfs["/workspace"] = "rw,nosuid,nodev,mode=1777";
    },
  },
  { wall: "open-files", change: (request) => without(request, "nofile") },
  { wall: "core", change: (request) => without(request, "core") },
  {
    wall: "log",
    change: ({ HostConfig }) => {
      HostConfig.LogConfig.Type = "json-file";
    },
  },
  { wall: "orphan", change: withoutGuard },
];

const ON_THE_HOST: Planted[] = [
  {
    wall: "kernel",
    change: ({ HostConfig }) => {
      HostConfig.Runtime = "runc";
    },
  },
  {
    wall: "network",
    change: (request) => {
      request.NetworkDisabled = false;
      request.HostConfig.NetworkMode = "host";
    },
  },
  {
    wall: "user",
    change: (request) => {
      request.User = "0:0";
    },
  },
  {
    wall: "capabilities",
    change: (request) => {
      request.HostConfig.CapDrop = [];
      withoutGuard(request);
    },
  },
  // gVisor behaves as if it were always set.
  {
    wall: "new-privileges",
    change: ({ HostConfig }) => {
      HostConfig.SecurityOpt = [];
    },
  },
  {
    wall: "devices",
    change: ({ HostConfig }) => {
      const device = { PathOnHost: "/dev/null", PathInContainer: "/dev/planted", CgroupPermissions: "r" };
      Object.assign(HostConfig, { Devices: [device] });
    },
  },
];

const LASTING: Planted[] = [
  { wall: "time", change: () => {} },
  {
    wall: "removal",
    change: ({ HostConfig }) => {
      HostConfig.AutoRemove = false;
    },
  },
];

describeDocker("every wall that ptc doctor --walls knows", () => {
  test("holds around a sandbox as it is, or says why it cannot be told", async () => {
    const findings = [...(await find(docker)).values()];
    expect(findings.map(({ wall }) => wall)).toEqual(Object.keys(WALLS));
    expect(findings.filter(({ required, verdict }) => required && verdict !== "holds")).toEqual([]);
    // How many processors there are is told by speed, which depends on what else the machine does.
    const others = findings.filter(({ wall }) => wall !== "processors");
    expect(others.filter(({ verdict }) => verdict === "does not hold")).toEqual([]);
  });

  test("is planted here, but for what another program on the machine would hide", () => {
    const planted = [...IN_GVISOR, ...ON_THE_HOST, ...LASTING].map(({ wall }) => wall);
    // The kernel of gVisor is a runtime's, not a container's: remote-engine.real.test.ts has one of either kind.
    expect(new Set([...planted, "processors", "sentry"])).toEqual(new Set(Object.keys(WALLS)));
  });

  describe.each([
    ["in gVisor", IN_GVISOR, true],
    ["on the host's kernel", ON_THE_HOST, true],
    ["under an engine that does not end what it should", LASTING, false],
  ] as const)("%s", (_, planted, killing) => {
    let findings: Map<WallName, WallFinding>;
    beforeAll(async () => {
      const all = (request: ContainerRequest) => {
        for (const { change } of planted) change(request);
      };
      findings = await find(weakened(all, killing), DOES_NOT_END_MS);
    });
    afterAll(async () => {
      for (const { id, labels } of await docker.listLabelled(OWNER_LABEL)) {
        if (labels[OWNER_LABEL] === owner) await docker.remove(id);
      }
    });

    test.each(planted.map(({ wall }) => [wall]))("does not hold where its line is missing: %s", (wall) => {
      expect(findings.get(wall)).toMatchObject({ verdict: "does not hold" });
    });
  });

  test("stops programs from being run where it is required and known not to hold, until it does", async () => {
    const path = join(base, "known/walls.json");
    const walls = new KnownWalls(path);
    const image = (await docker.findImage("ptc-runner"))?.digest ?? "";
    const state = new StateDirectory(base, self);
    const limits = { memoryMb: 512, cpus: 1, pids: 256 };
    const engine = new DockerSandboxEngine(docker, { folder: state.path, runners: RUNNER_STARTS });
    const setup = { engine, runtime: "runsc", image };
    const options = { engine, owner, image: "ptc-runner", runtime: "runsc", limits, walls };
    const start = async () => {
      const sandbox = await new SandboxStarter(options).acquire({ onStdout() {}, onStderr() {} });
      await sandbox.dispose();
    };
    await walls.note(setup, ["network"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    await expect(start()).rejects.toMatchObject({
      code: "wall_broken",
      message: expect.stringMatching(/network.*ptc doctor --walls/),
    });
    await walls.note(setup, []);
    await start();
    state.remove();
  });
});
