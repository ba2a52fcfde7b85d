import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";

const ADDRESS = "tcp://127.0.0.1:2376";
const LOOK_AGAIN_MS = 100;
const PATIENCE_MS = 60_000;
const STATIC_ADDRESS = "subjectAltName=IP:127.0.0.1";

/**
 * A Docker engine that stands for one on another machine: it is reached over TCP with TLS, and only from its own network
 * namespace, which has nothing but a loopback. It shares nothing with the engine of this machine, and its gVisor lets no
 * sandbox open a socket of its host. Its runtime `runsc` runs gVisor's kernel as nobody, `runsc-directfs` as root.
 */
export class SecondEngine {
  readonly #folder: string;
  readonly #daemon: ChildProcess;

  private constructor(folder: string, daemon: ChildProcess) {
    this.#folder = folder;
    this.#daemon = daemon;
  }

  static async start(): Promise<SecondEngine> {
    const folder = mkdtempSync(join(tmpdir(), "ptc-engine-"));
    makeCertificates(join(folder, "tls"));
    const runsc = findRunsc();
    const flags = runsc.runtimeArgs.filter((flag) => !/host-uds|directfs/.test(flag));
    writeFileSync(
      join(folder, "daemon.json"),
      JSON.stringify({
        runtimes: {
          runsc: { ...runsc, runtimeArgs: [...flags, "--directfs=false"] },
          "runsc-directfs": { ...runsc, runtimeArgs: [...flags, "--directfs=true"] },
        },
      }),
    );
    const tls = (name: string) => join(folder, "tls", name);
    const daemon = spawn(
      "unshare",
      [
        ...["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", "dockerd"],
        ...["--config-file", join(folder, "daemon.json"), "--data-root", join(folder, "data")],
        ...["--exec-root", join(folder, "exec"), "--pidfile", join(folder, "pid"), "--host", ADDRESS],
        ...["--host", `unix://${join(folder, "docker.sock")}`],
        ...["--bridge=none", "--iptables=false", "--tlsverify", "--tlscacert", tls("ca.pem")],
        ...["--tlscert", tls("server.pem"), "--tlskey", tls("server-key.pem")],
      ],
      { stdio: ["ignore", "ignore", "pipe"] },
    );
    const engine = new SecondEngine(folder, daemon);
    let said = "";
    daemon.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said = (said + text).slice(-4_096);
    });
    const end = Date.now() + PATIENCE_MS;
    while (engine.#docker(["version"]).status !== 0) {
      if (daemon.exitCode !== null || Date.now() > end) {
        await engine.end();
        throw new Error(`the second engine does not start: ${said}`);
      }
      await delay(LOOK_AGAIN_MS);
    }
    return engine;
  }

  /** What a client of the engine needs in its environment. */
  get environment(): Record<string, string> {
    return { DOCKER_HOST: ADDRESS, DOCKER_TLS_VERIFY: "1", DOCKER_CERT_PATH: join(this.#folder, "tls") };
  }

  /** The address by which the engine is known on its own machine. */
  get ownSocket(): string {
    return `unix://${join(this.#folder, "docker.sock")}`;
  }

  /** A command line that runs where the engine can be reached. */
  reaching(command: readonly string[]): string[] {
    return ["nsenter", `--net=/proc/${this.#daemon.pid}/ns/net`, "--", ...command];
  }

  /** Copies an image of this machine's engine, under another name. */
  copyImage(reference: string, name: string): void {
    const file = join(this.#folder, "image.tar");
    const saved = spawnSync("docker", ["save", "--output", file, reference], { encoding: "utf8" });
    expect({ status: saved.status, stderr: saved.stderr }).toEqual({ status: 0, stderr: "" });
    expect(this.#docker(["load", "--input", file]).status).toBe(0);
    expect(this.#docker(["tag", reference, name]).status).toBe(0);
    expect(this.#docker(["rmi", reference]).status).toBe(0);
    rmSync(file);
  }

  /** Ids of all containers. */
  containers(): string[] {
    return this.#docker(["ps", "--all", "--quiet"]).stdout.split("\n").filter(Boolean);
  }

  async end(): Promise<void> {
    if (this.#daemon.exitCode === null && this.#daemon.signalCode === null) {
      const ended = once(this.#daemon, "exit");
      this.#daemon.kill("SIGTERM");
      await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #docker(args: readonly string[]): { status: number | null; stdout: string } {
    const [command = "", ...rest] = this.reaching(["docker", ...args]);
    const env = { ...process.env, ...this.environment };
    return spawnSync(command, rest, { encoding: "utf8", env, stdio: ["ignore", "pipe", "ignore"] });
  }
}

/** gVisor as this machine's engine has it. */
function findRunsc(): { path: string; runtimeArgs: string[] } {
  const { stdout } = spawnSync("docker", ["info", "--format", "{{json .Runtimes.runsc}}"], {
    encoding: "utf8",
  });
  const { path, runtimeArgs } = JSON.parse(stdout) as { path: string; runtimeArgs?: string[] | null };
  return { path, runtimeArgs: runtimeArgs ?? [] };
}

/** An authority, a server's certificate for the loopback, and a client's. */
function makeCertificates(folder: string): void {
  mkdirSync(folder);
  const openssl = (...args: string[]) => {
    const { status, stderr } = spawnSync("openssl", args, { cwd: folder, encoding: "utf8" });
    if (status !== 0) throw new Error(`openssl ${args.join(" ")}: ${stderr}`);
  };
  const key = ["-newkey", "rsa:2048", "-nodes"];
  openssl(
    "req",
    "-x509",
    ...key,
    "-keyout",
    "ca-key.pem",
    "-out",
    "ca.pem",
    "-subj",
    "/CN=authority",
    "-days",
    "2",
  );
  for (const [name, subject, use] of [
    ["server", "engine", "serverAuth"],
    ["client", "ptc", "clientAuth"],
  ] as const) {
    openssl("req", ...key, "-keyout", `${name}-key.pem`, "-out", `${name}.csr`, "-subj", `/CN=${subject}`);
    writeFileSync(join(folder, `${name}.ext`), `extendedKeyUsage=${use}\n${STATIC_ADDRESS}\n`);
    openssl(
      ...["x509", "-req", "-in", `${name}.csr`, "-CA", "ca.pem", "-CAkey", "ca-key.pem", "-CAcreateserial"],
      ...["-out", `${name}.pem`, "-days", "2", "-extfile", `${name}.ext`],
    );
  }
  // The names under which a client looks for its own.
  writeFileSync(join(folder, "cert.pem"), readFileSync(join(folder, "client.pem")));
  writeFileSync(join(folder, "key.pem"), readFileSync(join(folder, "client-key.pem")), { mode: 0o600 });
}
