import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import * as z from "zod/mini";
import { openPool } from "../../../archive/postgres/database.ts";
import type { Envelope } from "../../../protocol/envelope.ts";
import { PostgresServer } from "../../archive/postgres/server.ts";
import { containersOf } from "../../sandbox/containers-of.ts";
import { list, type SoakCheck, SoakChecks, until } from "../checks.ts";
import { processesIn, stateFolders } from "../served-ptc.ts";
import { Balanced, SoakClient, type Told } from "./clients.ts";
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

/** A kind of program: what it is and what must become of it. The ids of its calls are `<data.id>/<number>`. */
interface Kind {
  name: string;
  code: string;
  calls: number;
  /** The type of its failure; without it, the program succeeds. */
  failure?: string;
  asks?: boolean;
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

interface Program extends Told {
  id: string;
  kind: Kind;
  isStateless: boolean;
  beganAt: number;
  endedAt: number;
}

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
  readonly #clients: readonly { client: SoakClient; isStateless: boolean }[];
  readonly #replicas: readonly Replica[];
  readonly #log: string;
  readonly #programs: Program[] = [];
  /** When something was away, with the time after it. */
  readonly #disturbed: { from: number; until: number }[] = [];
  #begun = 0;

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
    this.#postgres = given.postgres;
    this.#url = given.postgres.url();
    this.#counter = given.counter;
    this.#issuer = given.issuer;
    mkdirSync(directory, { recursive: true });
    this.#log = join(directory, "calls.log");
    writeFileSync(this.#log, "");
    const balanced = new Balanced(given.ports);
    const configuration = this.#configuration(balanced.url.href);
    this.#replicas = given.ports.map(
      (port, index) =>
        new Replica({ port, command, configuration, directory: join(directory, `replica-${index}`) }),
    );
    this.#clients = given.names.map((name, index) => {
      const isStateless = index % SESSIONS !== SESSIONS - 1;
      const era = isStateless ? "2026-07-28" : "2025-11-25";
      return { isStateless, client: new SoakClient(name, era, balanced, given.issuer.url) };
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
    this.#checkTold();
    this.#checkCalls();
    await this.#checkRecords();
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
    await Promise.all(this.#clients.map((each) => this.#work(each)));
    const seconds = (performance.now() - startedAt) / 1_000;
    await disturbing;
    const { clients, programs, say } = this.#options;
    say(
      `${programs} programs of ${clients} clients in ${seconds.toFixed(0)} s, ${(programs / seconds).toFixed(1)} a second`,
    );
  }

  async #work({ client, isStateless }: { client: SoakClient; isStateless: boolean }): Promise<void> {
    while (this.#begun < this.#options.programs) {
      const number = this.#begun++;
      const kind = KINDS[number % KINDS.length] as Kind;
      const id = `program-${number}`;
      const beganAt = performance.now();
      const told = await client.run(id, kind.code);
      this.#programs.push({ ...told, id, kind, isStateless, beganAt, endedAt: performance.now() });
    }
  }

  async #disturb(): Promise<void> {
    const { kills, restarts, programs } = this.#options;
    const events = kills + restarts;
    let restarted = 0;
    for (let event = 0; event < events; event++) {
      const due = ((event + 1) * programs) / (events + 1);
      while (this.#programs.length < due) await delay(50);
      const from = performance.now();
      const isRestart = Math.floor(((event + 1) * restarts) / events) > restarted;
      if (isRestart) {
        restarted++;
        await this.#postgres.stop("at once");
        await delay(AWAY_MS);
        await this.#postgres.start();
        this.#options.say(`PostgreSQL was away at program ${this.#programs.length}`);
      } else {
        const number = (event - restarted) % REPLICAS;
        const replica = this.#replicas[number] as Replica;
        await replica.kill();
        await delay(AWAY_MS);
        await replica.start();
        this.#options.say(`replica ${number} was killed at program ${this.#programs.length}`);
      }
      this.#disturbed.push({ from, until: performance.now() + AFTERMATH_MS });
    }
  }

  #isDisturbed({ beganAt, endedAt }: Program): boolean {
    return this.#disturbed.some(({ from, until }) => beganAt <= until && endedAt >= from);
  }

  #checkTold(): void {
    const lost = this.#programs.filter(({ instead }) => instead?.kind === "lost");
    const refused = this.#programs.filter(({ instead }) => instead?.kind === "reply");
    const silent = this.#programs.filter(({ instead }) => instead?.kind === "nothing");
    this.#checks.none(
      "whoever gets no answer is told so",
      `${this.#answered.length} answered, ${lost.length} lost with their replica, ${refused.length} refused`,
      silent.map(renderProgram),
    );
    const wrong = this.#programs.filter((program) => !isAsExpected(program));
    const unprovoked = wrong.filter((program) => !this.#isDisturbed(program));
    this.#checks.none(
      "a program that nothing disturbs ends as it must",
      `${this.#programs.length} programs, ${wrong.length} disturbed${list(wrong.map(renderProgram))}`,
      unprovoked.map(renderProgram),
    );
    const asking = this.#answered.filter(
      ({ kind, isStateless, envelope }) => kind.asks && isStateless && envelope.result.ok,
    );
    const wandered = asking.filter(({ replicas }) => new Set(replicas).size >= REPLICAS).length;
    this.#checks.check(
      "a program asks at one replica, is answered and asks at another, and ends at a third",
      `${wandered} of ${asking.length} that asked`,
      wandered > 0,
    );
  }

  get #answered(): (Program & { envelope: Envelope })[] {
    return this.#programs.flatMap((program) =>
      program.envelope === undefined ? [] : [{ ...program, envelope: program.envelope }],
    );
  }

  #checkCalls(): void {
    const noted = readFileSync(this.#log, "utf8").split("\n").slice(0, -1);
    const made = [...noted, ...this.#counter.ids];
    const counts = countEach(made);
    const twice = [...counts].filter(([, count]) => count > 1).map(([id, count]) => `${id} ${count} times`);
    this.#checks.none("no call is made twice", `${made.length} calls`, twice);
    const ended = this.#answered.filter(isAsExpected);
    const lacking = ended
      .flatMap(({ id, kind }) => Array.from({ length: kind.calls }, (_, number) => `${id}/${number}`))
      .filter((id) => !counts.has(id));
    this.#checks.none("every call of a program that ended as it must was made", `${ended.length}`, lacking);
  }

  async #checkRecords(): Promise<void> {
    const db = await openPool(this.#url);
    const Run = z.object({ run_id: z.string(), input_digest: z.string() });
    const Line = z.object({ line: z.string() });
    const runs = await db.all(Run, "SELECT run_id, input_digest FROM runs");
    const lines = (await db.all(Line, "SELECT line FROM audit_lines")).map(
      ({ line }) => JSON.parse(line) as { event?: string; run_id?: string },
    );
    const archived = countEach(runs.map(({ run_id }) => run_id));
    const inputs = countEach(runs.map(({ input_digest }) => input_digest));
    const audited = countEach(lines.filter(({ event }) => event === "run").map(({ run_id }) => run_id ?? ""));
    const called = countEach(lines.filter(({ event }) => event === "call").map(({ run_id }) => run_id ?? ""));
    const said = this.#answered.filter(({ isUnrecorded }) => !isUnrecorded);
    const once = (counts: Map<string, number>, of: (envelope: Envelope) => string) =>
      said
        .filter(({ envelope }) => counts.get(of(envelope)) !== 1)
        .map((program) => `${counts.get(of(program.envelope)) ?? 0} times ${renderProgram(program)}`);
    const unsaid = this.#answered.length - said.length;
    const answered = `${said.length} answered, ${unsaid} more whose replies say that they are not yet recorded`;
    this.#checks.none("every answered program is archived once", `${answered}, ${runs.length} archived`, [
      ...once(archived, ({ run_id }) => run_id),
      ...once(inputs, ({ input_digest }) => input_digest),
    ]);
    this.#checks.none(
      "no program is archived twice",
      `${runs.length} archived`,
      [...inputs].filter(([, count]) => count > 1).map(([digest]) => digest),
    );
    this.#checks.none(
      "every answered program is audited once",
      `${answered}, ${audited.size} audited`,
      once(audited, ({ run_id }) => run_id),
    );
    const uncounted = said
      .filter((program) => isAsExpected(program))
      .filter(({ kind, envelope }) => (called.get(envelope.run_id) ?? 0) !== kind.calls)
      .map((program) => `${called.get(program.envelope.run_id) ?? 0} lines ${renderProgram(program)}`);
    this.#checks.none("every call of an answered program is audited once", answered, uncounted);
    const [replica] = this.#replicas;
    for (const what of ["runs", "audit"]) {
      const verified = await replica?.ptc(what, "verify");
      const text = verified?.text.split("\n").at(-1) ?? "";
      this.#checks.check(`ptc ${what} verify finds nothing`, text, verified?.ok === true);
    }
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

function isAsExpected({ kind, envelope }: Pick<Program, "kind" | "envelope">): boolean {
  if (envelope === undefined) return false;
  return envelope.result.ok ? kind.failure === undefined : envelope.result.error.type === kind.failure;
}

function countEach(values: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return counts;
}

function renderProgram({ id, kind, envelope, instead, replicas, isStateless }: Program): string {
  const outcome =
    envelope?.result.ok === false ? `${envelope.result.error.type}: ${envelope.result.error.message}` : "ok";
  const told = envelope === undefined ? `${instead?.kind}: ${instead?.text}` : outcome;
  const where = `${isStateless ? "stateless" : "session"} at ${replicas.join("")}`;
  return `${id} (${kind.name}, ${where}) ${told}`.slice(0, 300);
}
