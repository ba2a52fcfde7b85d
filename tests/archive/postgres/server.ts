/**
 * A PostgreSQL of the tests' own: its files in a folder of its own, on a Unix socket alone, and ended by its pid. The programs are
 * those of Debian's and Ubuntu's packages, or those on the PATH. As root, the server runs as an account without rights,
 * because it refuses root.
 */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll } from "vitest";

const PACKAGES = "/usr/lib/postgresql";

/** The folder of the programs of PostgreSQL; `undefined` where there are none. */
function findPrograms(): string | undefined {
  const versions = existsSync(PACKAGES) ? readdirSync(PACKAGES) : [];
  const folders = [
    ...versions.sort((a, b) => Number(b) - Number(a)).map((version) => join(PACKAGES, version, "bin")),
    ...(process.env.PATH ?? "").split(delimiter),
  ];
  return folders.find((folder) => ["initdb", "postgres"].every((name) => existsSync(join(folder, name))));
}

const PROGRAMS = findPrograms();

const { CI, PTC_REQUIRE_SANDBOX } = process.env;
const isRequired = PTC_REQUIRE_SANDBOX === "1" || (CI !== undefined && CI !== "" && CI !== "false");

if (PROGRAMS === undefined && isRequired)
  throw new Error("PostgreSQL is missing: run `npm run setup`, which installs it");

/** Why no PostgreSQL can be started here, for the names of tests that are skipped then; empty where one can. */
export const WITHOUT_POSTGRES =
  PROGRAMS === undefined ? " (skipped: there is no PostgreSQL; `npm run setup` installs it)" : "";

/** The account that the server runs as, where this process is root. */
function accountId(name: "uid" | "gid"): number | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const flag = name === "uid" ? "-u" : "-g";
  return Number(execFileSync("id", [flag, "nobody"], { encoding: "utf8" }));
}

const ACCOUNT = { uid: accountId("uid"), gid: accountId("gid") };
const identity = {
  ...(ACCOUNT.uid === undefined ? {} : { uid: ACCOUNT.uid }),
  ...(ACCOUNT.gid === undefined ? {} : { gid: ACCOUNT.gid }),
};

const USER = "ptc";

/** A server that runs. */
export class PostgresServer {
  readonly folder: string;
  readonly #settings: readonly string[];
  #process: ChildProcess | undefined;
  #schemas = 0;

  /** @param settings of the server, such as `max_connections=20`. */
  constructor(settings: readonly string[] = []) {
    if (PROGRAMS === undefined) throw new Error("there is no PostgreSQL here");
    this.#settings = settings;
    this.folder = mkdtempSync(join(tmpdir(), "ptc-pg-"));
    chmodSync(this.folder, 0o755);
    const data = join(this.folder, "data");
    mkdirSync(data);
    this.give(data);
    this.give(this.folder);
    const made = spawnSync(
      join(PROGRAMS, "initdb"),
      ["-D", data, "-A", "trust", "-U", USER, "-E", "UTF8", "--locale=C", "--no-sync"],
      { ...identity, cwd: this.folder, encoding: "utf8" },
    );
    if (made.status !== 0) throw new Error(`initdb: ${made.stderr}`);
  }

  /** Hands a path to the account of the server. */
  give(path: string): void {
    if (ACCOUNT.uid !== undefined) chownSync(path, ACCOUNT.uid, ACCOUNT.gid ?? 0);
  }

  /** The URL of a schema in the server; of a new one without a name. */
  url(schema = `s${this.#schemas++}_${process.pid}`): string {
    const options = encodeURIComponent(`-c search_path=${schema}`);
    return `postgres://${USER}@/postgres?host=${encodeURIComponent(this.folder)}&options=${options}`;
  }

  /** Starts the server, and resolves when it answers. */
  async start(): Promise<void> {
    const settings = [
      ...["listen_addresses=", `unix_socket_directories=${this.folder}`, "shared_buffers=32MB"],
      ...["max_connections=60", "autovacuum=off", "jit=off", ...this.#settings],
    ];
    const args = ["-D", join(this.folder, "data"), ...settings.flatMap((each) => ["-c", each])];
    const child = spawn(join(PROGRAMS ?? "", "postgres"), args, {
      ...identity,
      cwd: this.folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process = child;
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", (chunk: Buffer) => {
        said += chunk.toString();
        if (said.includes("ready to accept connections")) resolve();
      });
      child.on("exit", () => reject(new Error(`postgres: ${said}`)));
    });
    child.stderr?.resume();
  }

  /**
   * Ends the server. It closes connections and keeps what was committed; `at once`, it recovers when it starts again, as after a
   * power failure.
   */
  async stop(how: "in order" | "at once" = "in order"): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill(how === "in order" ? "SIGINT" : "SIGQUIT");
    await ended;
    this.#process = undefined;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Starts a server for the tests of one file, and ends it after them. It is there when their hooks run. */
export function usePostgres(settings: readonly string[] = ["fsync=off"]): () => PostgresServer {
  let server: PostgresServer | undefined;
  beforeAll(async () => {
    if (PROGRAMS === undefined) return;
    server = new PostgresServer(settings);
    await server.start();
  });
  afterAll(async () => {
    await server?.stop();
    server?.remove();
  });
  return () => {
    if (server === undefined) throw new Error("there is no PostgreSQL here");
    return server;
  };
}
