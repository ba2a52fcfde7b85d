import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { PostgresServer } from "../../archive/postgres/server.ts";
import { containersOf } from "../../sandbox/containers-of.ts";
import { type SoakCheck, SoakChecks, until } from "../checks.ts";
import { processesIn, stateFolders } from "../served-ptc.ts";
import { Balanced, SoakClient } from "./clients.ts";
import { type Kind, Programs, type Worker } from "./programs.ts";
import { freePorts, Replica, serveCounter, serveIssuer } from "./surroundings.ts";

const STDIO_SERVER = join(import.meta.dirname, "../../fixtures/servers/counts-calls.mjs");
const REPLICAS = 3;
/** One client in so many has a session (2025-11-25) at one replica. */
const SESSIONS = 5;
/** How long a replica, or PostgreSQL, is away. */
const AWAY_MS = 1_000;
/** How long after it is back programs may still feel it: what a dead process had claimed is free again by then. */
const AFTERMATH_MS = 35_000;

export interface HttpSoakOptions {
  /** An empty folder for everything. */
  directory: string;
  /** A command line that is ptc. */
  command: readonly string[];
  clients: number;
  programs: number;
  /** How often a replica is killed. */
  kills: number;
  /** How often PostgreSQL ends as in a power failure, and starts again. */
  restarts: number;
  say: (line: string) => void;
}

const call = (tool: string, number: number) => `await mcp__${tool}({ id: data.id + "/${number}" });`;

const ASKING: Kind = {
  name: "asking",
  code: `${call("remote__note", 0)} ${call("remote__remove", 1)} ${call("counter__note", 2)} ${call("remote__remove", 3)}`,
  calls: 4,
  asks: true,
};

const KINDS: readonly Kind[] = [
  {
    name: "calls",
    code: `${call("counter__note", 0)} ${call("remote__note", 1)} ${call("counter__note", 2)}`,
    calls: 3,
  },
  ASKING,
  { name: "trivial", code: "globalThis.result = data.id;", calls: 0 },
  {
    name: "lasting",
    code: `${call("remote__note", 0)} await new Promise((resolve) => setTimeout(resolve, 700)); ${call("counter__note", 1)}`,
    calls: 2,
  },
  {
    name: "failing",
    code: `${call("counter__note", 0)} ${call("remote__note", 1)} throw new Error("as it should");`,
    calls: 2,
    failure: "ScriptError",
  },
  { name: "own server", code: `${call("own__note", 0)} ${call("remote__note", 1)}`, calls: 2 },
  ASKING,
];

/**
 * Has many clients run programs at three replicas of `ptc serve --http` with one PostgreSQL, while replicas are killed and PostgreSQL
 * is restarted, and says what held.
 */
export async function httpSoak(options: HttpSoakOptions): Promise<SoakCheck[]> {
  const soak = await HttpSoak.open(options);
  try {
    return await soak.all();
  } finally {
    await soak.close();
  }
}

class HttpSoak {
  readonly #options: HttpSoakOptions;
  readonly #checks: SoakChecks;
  readonly #postgres: PostgresServer;
  readonly #url: string;
  readonly #counter: Awaited<ReturnType<typeof serveCounter>>;
  readonly #issuer: Awaited<ReturnType<typeof serveIssuer>>;
  readonly #clients: readonly Worker[];
  readonly #replicas: readonly Replica[];
  readonly #log: string;
  readonly #programs: Programs;

  static async open(options: HttpSoakOptions): Promise<HttpSoak> {
    const postgres = new PostgresServer(["fsync=off", "max_connections=100"]);
    await postgres.start();
    const names = Array.from({ length: options.clients }, (_, index) => `client-${index}`);
    const [counter, issuer, ports] = await Promise.all([
      serveCounter(),
      serveIssuer(names),
      freePorts(REPLICAS),
    ]);
    return new HttpSoak(options, { postgres, counter, issuer, ports, names });
  }

  private constructor(
    options: HttpSoakOptions,
    given: {
      postgres: PostgresServer;
      counter: Awaited<ReturnType<typeof serveCounter>>;
      issuer: Awaited<ReturnType<typeof serveIssuer>>;
      ports: number[];
      names: string[];
    },
  ) {
    const { directory, command, say } = options;
    this.#options = options;
    this.#checks = new SoakChecks(say);
    this.#programs = new Programs(this.#checks, KINDS);
    this.#postgres = given.postgres;
    this.#url = given.postgres.url();
    this.#counter = given.counter;
    this.#issuer = given.issuer;
    mkdirSync(directory, { recursive: true });
    this.#log = join(directory, "calls.log");
    writeFileSync(this.#log, "");
    const balanced = new Balanced(given.ports.map((port) => `http://127.0.0.1:${port}`));
    const configuration = this.#configuration(balanced.url.href);
    this.#replicas = given.ports.map(
      (port, index) =>
        new Replica({ port, command, configuration, directory: join(directory, `replica-${index}`) }),
    );
    this.#clients = given.names.map((name, index) => {
      const isStateless = index % SESSIONS !== SESSIONS - 1;
      const era = isStateless ? "2026-07-28" : "2025-11-25";
      return { isStateless, client: new SoakClient(name, era, balanced, { issuer: given.issuer.url }) };
    });
  }

  #configuration(publicUrl: string): object {
    const stdio = { command: process.execPath, args: [STDIO_SERVER, this.#log] };
    return {
      servers: [
        { name: "counter", ...stdio, shared: true },
        { name: "own", ...stdio, max_connections: 8 },
        { name: "remote", url: `${this.#counter.url}/mcp` },
      ],
      storage: { url: this.#url, encryption_key: Buffer.alloc(32, 7).toString("base64") },
      http: { public_url: publicUrl, auth: { issuers: [{ issuer: this.#issuer.url }] } },
      limits: { each: { max_parallel_programs: 2 } },
      execution: { memory_mb: 256, max_parallel_programs: 4, timeout_seconds: 600 },
      sandbox: { warm: 2, max_warm: 4 },
    };
  }

  async all(): Promise<SoakCheck[]> {
    for (const replica of this.#replicas) {
      const { ok, text } = await replica.ptc("generate");
      if (!ok) throw new Error(`ptc generate: ${text}`);
    }
    await Promise.all(this.#replicas.map((replica) => replica.start()));
    await this.#load();
    const codes = await Promise.all(this.#replicas.map((replica) => replica.stop()));
    this.#checks.check(
      "each replica ends in order",
      `exit codes ${codes.join(", ")}`,
      codes.every((code) => code === 0),
    );
    this.#programs.checkTold();
    this.#checkWandered();
    const noted = readFileSync(this.#log, "utf8").split("\n").slice(0, -1);
    this.#programs.checkCalls([...noted, ...this.#counter.ids]);
    const [replica] = this.#replicas as [Replica];
    await this.#programs.checkRecords(this.#url, (...args) => replica.ptc(...args));
    await this.#checkLeftovers();
    return this.#checks.all;
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map(({ client }) => client.close()));
    await Promise.all(this.#replicas.map((replica) => replica.kill()));
    this.#counter.close();
    this.#issuer.close();
    await this.#postgres.stop();
    this.#postgres.remove();
  }

  /** All programs, each client one after the other, with the disturbances spread over them. */
  async #load(): Promise<void> {
    const startedAt = performance.now();
    const disturbing = this.#disturb();
    await this.#programs.run(this.#clients, this.#options.programs);
    const seconds = (performance.now() - startedAt) / 1_000;
    await disturbing;
    const { clients, programs, say } = this.#options;
    say(
      `${programs} programs of ${clients} clients in ${seconds.toFixed(0)} s, ${(programs / seconds).toFixed(1)} a second`,
    );
  }

  async #disturb(): Promise<void> {
    const { kills, restarts, programs } = this.#options;
    const events = kills + restarts;
    let restarted = 0;
    for (let event = 0; event < events; event++) {
      const due = ((event + 1) * programs) / (events + 1);
      while (this.#programs.ended.length < due) await delay(50);
      const from = performance.now();
      const isRestart = Math.floor(((event + 1) * restarts) / events) > restarted;
      if (isRestart) {
        restarted++;
        await this.#postgres.stop("at once");
        await delay(AWAY_MS);
        await this.#postgres.start();
        this.#options.say(`PostgreSQL was away at program ${this.#programs.ended.length}`);
      } else {
        const number = (event - restarted) % REPLICAS;
        const replica = this.#replicas[number] as Replica;
        await replica.kill();
        await delay(AWAY_MS);
        await replica.start();
        this.#options.say(`replica ${number} was killed at program ${this.#programs.ended.length}`);
      }
      this.#programs.disturb(from, performance.now() + AFTERMATH_MS);
    }
  }

  #checkWandered(): void {
    const asking = this.#programs.answered.filter(
      ({ kind, isStateless, envelope }) => kind.asks && isStateless && envelope.result.ok,
    );
    const wandered = asking.filter(({ replicas }) => new Set(replicas).size >= REPLICAS).length;
    this.#checks.check(
      "a program asks at one replica, is answered and asks at another, and ends at a third",
      `${wandered} of ${asking.length} that asked`,
      wandered > 0,
    );
  }

  async #checkLeftovers(): Promise<void> {
    const pids = this.#replicas.flatMap((replica) => replica.pids);
    const look = async () => ({
      sandboxes: (await Promise.all(pids.map(containersOf))).flat().length,
      folders: this.#replicas.flatMap(({ directory }) => stateFolders(directory)).length,
      processes: processesIn(this.#options.directory).length,
      "processes of servers": processesIn(this.#log).length,
    });
    const isClear = (left: object) => Object.values(left).every((count) => count === 0);
    await until(async () => isClear(await look()));
    const left = await look();
    this.#checks.check(
      "no sandbox, folder or process stays",
      Object.entries(left)
        .map(([what, count]) => `${count} ${what}`)
        .join(", "),
      isClear(left),
    );
  }
}
