/**
 * The program that tests the isolation of a sandbox. It runs inside, tries things, and returns the results, which are judged outside
 * (judge-walls.ts). `data`: paths of the host that must not be visible.
 */
import { spawn, spawnSync } from "node:child_process";
import dgram from "node:dgram";
import dns from "node:dns/promises";
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import net from "node:net";
import { networkInterfaces } from "node:os";
import { Worker } from "node:worker_threads";

const PATIENCE_MS = 2_000;
const CHUNK = Buffer.alloc(1024 * 1024, 1);
/** More than any of the profile's limits. */
const MANY_FILES = 4_096;
const MANY_PROCESSES = 80;
const PROCESSOR_ROUNDS = 3;
const NEARLY = 1.25;
const MANY_MEGABYTES = 256;
const CPU_WINDOW_MS = 500;
const KERNEL_LOG_BYTES = 8_192;
/** Numbers of prctl(2) and syslog(2). */
const CALLS = { x64: [157, 103], arm64: [167, 116] };

async function attempt(work) {
  const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, "ETIMEDOUT").unref());
  const tried = (async () => {
    try {
      await work();
      return "ok";
    } catch (error) {
      return String(error?.code ?? error);
    }
  })();
  return Promise.race([tried, late]);
}

function connect(options) {
  return attempt(
    () =>
      new Promise((resolve, reject) => {
        const socket = net.connect(options, () => resolve(socket.destroy()));
        socket.on("error", reject).unref();
      }),
  );
}

function send(port, host) {
  return attempt(
    () =>
      new Promise((resolve, reject) => {
        const socket = dgram.createSocket("udp4").unref();
        socket.on("error", reject);
        socket.send("x", port, host, (error) => (error ? reject(error) : resolve(socket.close())));
      }),
  );
}

function read(path) {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    return String(error?.code ?? error);
  }
}

function list(path) {
  try {
    return readdirSync(path).sort();
  } catch {
    return [];
  }
}

/** The number of megabytes that can be written to a folder. */
function fill(folder) {
  const path = `${folder}/.fill`;
  let megabytes = 0;
  try {
    const file = openSync(path, "w");
    try {
      for (; megabytes < MANY_MEGABYTES; megabytes++) writeSync(file, CHUNK);
    } catch {
      // It is full.
    }
    closeSync(file);
    rmSync(path);
  } catch {
    return 0;
  }
  return megabytes;
}

function openMany() {
  const files = [];
  try {
    while (files.length < MANY_FILES) files.push(openSync("/dev/null"));
  } catch {
    // No more.
  }
  for (const file of files) closeSync(file);
  return files.length;
}

/** Asks the kernel through Perl for facts that need system calls: whether new rights can be gained, and its boot messages. */
function askKernel() {
  const numbers = CALLS[process.arch];
  if (numbers === undefined) return undefined;
  const [prctl, syslog] = numbers;
  const script = `my $log = "\\0" x ${KERNEL_LOG_BYTES}; print syscall(${prctl}, 39, 0, 0, 0, 0), "\\n"; syscall(${syslog}, 3, $log, ${KERNEL_LOG_BYTES}); print $log =~ s/\\0+$//r`;
  const { status, stdout } = spawnSync("/usr/bin/perl", ["-e", script], { encoding: "utf8" });
  if (status !== 0) return undefined;
  const [noNewPrivileges, ...log] = stdout.split("\n");
  return { noNewPrivileges: noNewPrivileges === "1", log: log.slice(0, 3).join("\n").slice(0, 500) };
}

/** How far a number of threads count in a fixed time. */
async function countUp(threads) {
  const counters = new BigInt64Array(new SharedArrayBuffer(8 * threads * 8));
  const code =
    "const { workerData: { counters, at } } = require('node:worker_threads'); for (;;) counters[at]++;";
  const busy = Array.from(
    { length: threads },
    (_, i) => new Worker(code, { eval: true, workerData: { counters, at: i * 8 } }),
  );
  await Promise.all(busy.map((worker) => new Promise((resolve) => worker.once("online", resolve))));
  const sum = () => counters.reduce((total, value) => total + value, 0n);
  const before = sum();
  await new Promise((resolve) => setTimeout(resolve, CPU_WINDOW_MS));
  const counted = sum() - before;
  await Promise.all(busy.map((worker) => worker.terminate()));
  return Number(counted);
}

/**
 * How many times as much several threads do as one, in the round with the lowest result, because other load on the machine varies.
 * No further round is needed if that is about the allowed number of processors or less.
 */
async function useProcessors(threads, allowed) {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < PROCESSOR_ROUNDS && least > allowed * NEARLY; round++) {
    const before = await countUp(1);
    const several = await countUp(threads);
    const one = Math.max(before, await countUp(1));
    if (one > 0) least = Math.min(least, several / one);
  }
  return Number.isFinite(least) ? least : 0;
}

/** How many processes can be started at once. */
async function startMany() {
  const children = [];
  let refused = false;
  for (let i = 0; i < MANY_PROCESSES && !refused; i++) {
    const child = spawn("/usr/bin/perl", ["-e", "sleep 60"], { stdio: "ignore" });
    refused = await new Promise((resolve) => {
      child.once("spawn", () => resolve(false));
      child.once("error", () => resolve(true));
    });
    if (!refused) children.push(child);
  }
  for (const child of children) child.kill("SIGKILL");
  return { started: children.length, refused };
}

const status = read("/proc/self/status");
const field = (name) => new RegExp(`^${name}:\\s*(.*)$`, "m").exec(status)?.[1];

globalThis.result = {
  network: {
    interfaces: Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
      addresses.some(({ internal }) => !internal) ? [name] : [],
    ),
    reached: {
      "1.1.1.1:80": await connect({ host: "1.1.1.1", port: 80 }),
      "[2606:4700:4700::1111]:80": await connect({ host: "2606:4700:4700::1111", port: 80 }),
      "169.254.169.254:80": await connect({ host: "169.254.169.254", port: 80 }),
      "1.1.1.1:53/udp": await send(53, "1.1.1.1"),
      "a name": await attempt(() => dns.lookup("example.com")),
      ...(data.port === undefined
        ? {}
        : { "a port of the host": await connect({ host: "127.0.0.1", port: data.port }) }),
    },
  },
  writable: await Promise.all(
    ["/", "/etc", "/usr", "/usr/local/bin", "/opt/ptc", "/run", "/run/ptc", "/root", "/home"].map(
      async (folder) => [folder, await attempt(() => writeFileSync(`${folder}/.ptc-probe`, ""))],
    ),
  ),
  rootIsReadOnly: / \/ \S+ ro[, ]/.test(read("/proc/self/mounts").split("\n")[0]),
  ids: [process.getuid(), process.geteuid(), process.getgid(), process.getegid(), ...process.getgroups()],
  capabilities: Object.fromEntries(
    ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].flatMap((name) => {
      const value = field(name);
      return value === undefined ? [] : [[name, value]];
    }),
  ),
  kernel: askKernel(),
  mounts: read("/proc/self/mounts")
    .split("\n")
    .flatMap((line) => line.split(" ")[1] ?? []),
  devices: list("/dev"),
  seen: data.hostPaths.filter((path) => existsSync(path)),
  engineSockets: ["/var/run/docker.sock", "/run/docker.sock", "/run/containerd", "/run/docker"].filter(
    (path) => existsSync(path),
  ),
  socketFolder: list("/run/ptc"),
  nameServers: read("/etc/resolv.conf"),
  files: openMany(),
  core: /^Max core file size\s+(\S+)\s+(\S+)/m.exec(read("/proc/self/limits"))?.slice(1, 3),
  disk: Object.fromEntries(["/workspace", "/tmp", "/dev/shm"].map((folder) => [folder, fill(folder)])),
  processors: await useProcessors(data.threads, data.processors),
  processes: await startMany(),
};
