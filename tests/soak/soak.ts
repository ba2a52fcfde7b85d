import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { containersOf, lookingEngine } from "../sandbox/containers-of.ts";
import { list, type SoakCheck, SoakChecks, until } from "./checks.ts";
import { HOLDING, KINDS, LARGEST, LASTING, type SoakKind } from "./kinds.ts";
import { environmentIn, processesIn, ServedPtc, type SoakRun, stateFolders } from "./served-ptc.ts";

const SERVER = join(import.meta.dirname, "../fixtures/servers/counts-calls.mjs");
const MAX_GROWTH_MIB = 100;
/** Descriptors that come and go, such as kept-alive connections to the engine. */
const MAX_MORE_DESCRIPTORS = 12;
/** Programs that may fail because one waiting or running sandbox was killed. */
const VICTIMS = 1;
const MAX_PEAK_ROUNDS = 12;

export interface SoakOptions {
  /** An empty folder for the project. */
  directory: string;
  /** A command line that is ptc. */
  command: readonly string[];
  runs: number;
  inFlight: number;
  /** How often each thing is killed. */
  kills: number;
  /** Has the Docker daemon end and start again, while programs run. Without it, it is left alone. */
  restartDocker?: (() => Promise<void>) | undefined;
  say: (line: string) => void;
}

/** Runs programs of all kinds, then kills what ptc is made of while others run, and says what held. */
export async function soak(options: SoakOptions): Promise<SoakCheck[]> {
  return new Soak(options).all();
}

class Soak {
  readonly #options: SoakOptions;
  readonly #checks: SoakChecks;
  readonly #all: SoakRun[] = [];
  readonly #log: string;
  readonly #pids: number[] = [];
  #ptc: ServedPtc | undefined;
  #number = 0;

  constructor(options: SoakOptions) {
    this.#options = options;
    this.#checks = new SoakChecks(options.say);
    const { directory } = options;
    this.#log = join(directory, "calls.log");
    mkdirSync(join(directory, "run"), { recursive: true });
    writeFileSync(this.#log, "");
    const server = { name: "counter", command: process.execPath, args: [SERVER, this.#log] };
    const configuration = {
      servers: [server],
      execution: { memory_mb: 256, max_parallel_programs: options.inFlight },
      sandbox: { warm: 2, max_warm: 4 },
    };
    // JSON is YAML as well.
    writeFileSync(join(directory, "ptc.yaml"), JSON.stringify(configuration));
  }

  async all(): Promise<SoakCheck[]> {
    this.#ptcCommand("generate");
    await this.#serve();
    await this.#load();
    for (let round = 0; round < this.#options.kills; round++) {
      await this.#killSandbox();
      await this.#killServer();
      await this.#killPtc();
    }
    if (this.#options.restartDocker !== undefined) await this.#restartDocker(this.#options.restartDocker);
    await this.#served.close();
    await this.#checkLeftovers();
    this.#checkCalls();
    this.#checkRecords();
    return this.#checks.all;
  }

  get #served(): ServedPtc {
    if (this.#ptc === undefined) throw new Error("nothing is served");
    return this.#ptc;
  }

  async #serve(): Promise<void> {
    this.#ptc = await ServedPtc.start(this.#options.command, this.#options.directory);
    this.#pids.push(this.#ptc.pid);
  }

  #run = async (kind: SoakKind): Promise<SoakRun> => {
    const run = await this.#served.run(`run-${this.#number++}`, kind);
    this.#all.push(run);
    return run;
  };

  async #many(count: number): Promise<SoakRun[]> {
    const runs: SoakRun[] = [];
    let next = 0;
    const worker = async () => {
      while (next < count) runs.push(await this.#run(KINDS[next++ % KINDS.length] as SoakKind));
    };
    await Promise.all(Array.from({ length: this.#options.inFlight }, worker));
    return runs;
  }

  /** As many of the largest outputs at once as may be. What a heap held at its fullest it gives back late or never: that is no growth. */
  async #peak(rounds: number): Promise<SoakRun[]> {
    const runs: SoakRun[] = [];
    for (let round = 0; round < rounds; round++) {
      runs.push(
        ...(await Promise.all(Array.from({ length: this.#options.inFlight }, () => this.#run(LARGEST)))),
      );
    }
    return runs;
  }

  async #load(): Promise<void> {
    const { runs: count, say } = this.#options;
    const peak = await this.#peak(Math.min(MAX_PEAK_ROUNDS, Math.ceil(count / KINDS.length)));
    const warmUp = [...peak, ...(await this.#many(Math.min(64, count)))];
    const before = await this.#settled();
    const startedAt = performance.now();
    const rest = await this.#many(count + peak.length - warmUp.length);
    const seconds = (performance.now() - startedAt) / 1_000;
    if (rest.length > 0) say(`${(rest.length / seconds).toFixed(1)} runs a second`);
    const after = await this.#settled(before);
    const wrong = [...warmUp, ...rest].filter((run) => !isAsExpected(run)).map(renderRun);
    this.#checks.check(
      "every program ended as its kind must",
      `${count + peak.length} runs, ${wrong.length} otherwise${list(wrong)}`,
      wrong.length === 0,
    );
    const growth = after.memoryMib - before.memoryMib;
    this.#checks.check(
      "the memory of ptc grows by less than 100 MiB",
      `${before.memoryMib.toFixed(0)} to ${after.memoryMib.toFixed(0)} MiB`,
      growth < MAX_GROWTH_MIB,
    );
    this.#checks.check(
      "no file descriptor stays",
      `${before.descriptors}, then ${after.descriptors}`,
      after.descriptors <= before.descriptors + MAX_MORE_DESCRIPTORS,
    );
  }

  /** What ptc holds while nothing runs, as soon as that is no more than before. */
  async #settled(before?: { memoryMib: number; descriptors: number }) {
    const look = () => ({ memoryMib: this.#served.memoryMib(), descriptors: this.#served.descriptors() });
    await delay(2_000);
    if (before !== undefined) {
      await until(() => look().descriptors <= before.descriptors + MAX_MORE_DESCRIPTORS);
    }
    return look();
  }

  /** One sandbox of many, of a program or of none, ends without a word. */
  async #killSandbox(): Promise<void> {
    const running = Array.from({ length: this.#options.inFlight }, () => this.#run(LASTING));
    await this.#noted(`run-${this.#number - 1}/0`);
    const [id] = shuffled(await containersOf(this.#served.pid));
    if (id !== undefined) await lookingEngine.remove(id);
    const runs = await Promise.all(running);
    const failed = runs.filter((run) => !isAsExpected(run));
    const typed = failed.every(({ envelope }) => envelope !== undefined && !envelope.result.ok);
    const after = await this.#run(KINDS[0] as SoakKind);
    this.#checks.check(
      "a killed sandbox fails its own program alone, with a type",
      `${runs.length} runs, ${failed.length} failed${list(failed.map(renderRun))}`,
      failed.length <= VICTIMS && typed && isAsExpected(after),
    );
  }

  /** A server ends while its calls are under way. */
  async #killServer(): Promise<void> {
    const holding = this.#run(HOLDING);
    await this.#noted(`run-${this.#number - 1}/0`);
    const server = processesIn(this.#log)[0];
    if (server !== undefined) process.kill(server, "SIGKILL");
    const failed = await holding;
    const after = await this.#run(KINDS[1] as SoakKind);
    this.#checks.check(
      "a killed server fails the calls that were under way, with a type, and is started again",
      [failed, after].map(renderRun).join("; "),
      server !== undefined && isAsExpected(failed) && isAsExpected(after),
    );
  }

  /** ptc ends without a word, with programs and calls under way. */
  async #killPtc(): Promise<void> {
    const { pid } = this.#served;
    const running = [this.#run(LASTING), this.#run(HOLDING)];
    await this.#noted(`run-${this.#number - 1}/0`);
    process.kill(pid, "SIGKILL");
    await Promise.all(running);
    await this.#served.close();
    await this.#serve();
    const after = await this.#run(KINDS[1] as SoakKind);
    const gone = await until(async () => (await containersOf(pid)).length === 0);
    this.#checks.check(
      "what a killed ptc leaves ends or is cleared by the next",
      `${(await containersOf(pid)).length} containers, ${stateFolders(this.#options.directory).length} state folder; then ${renderRun(after)}`,
      gone && stateFolders(this.#options.directory).length === 1 && isAsExpected(after),
    );
  }

  async #restartDocker(restart: () => Promise<void>): Promise<void> {
    const running = Array.from({ length: this.#options.inFlight }, () => this.#run(LASTING));
    await this.#noted(`run-${this.#number - 1}/0`);
    await restart();
    const runs = await Promise.all(running);
    const untyped = runs.filter(({ envelope }) => envelope === undefined);
    const recovered = await until(async () => isAsExpected(await this.#run(KINDS[0] as SoakKind)));
    this.#checks.check(
      "a restart of the Docker daemon fails programs with a type, and those after it run",
      `${runs.length} runs: ${runs.map(renderRun).join("; ")}; ${recovered ? "runs again" : "does not run again"}`,
      untyped.length === 0 && recovered,
    );
  }

  async #checkLeftovers(): Promise<void> {
    const { directory } = this.#options;
    const look = async () => {
      const containers = (await Promise.all(this.#pids.map(containersOf))).flat().length;
      return {
        containers,
        folders: stateFolders(directory).length,
        processes: processesIn(directory).length,
      };
    };
    await until(async () => Object.values(await look()).every((count) => count === 0));
    const left = await look();
    this.#checks.check(
      "no container, socket, folder or process stays",
      Object.entries(left)
        .map(([what, count]) => `${count} ${what}`)
        .join(", "),
      Object.values(left).every((count) => count === 0),
    );
  }

  #checkCalls(): void {
    const made = this.#calls();
    const twice = made.length - new Set(made).size;
    const known = new Set(made);
    const lacking = this.#all
      .filter((run) => run.envelope?.result.ok)
      .flatMap(({ id, kind }) => Array.from({ length: kind.calls }, (_, call) => `${id}/${call}`))
      .filter((id) => !known.has(id));
    this.#checks.check(
      "no call is made twice, and none is lost",
      `${made.length} calls, ${twice} twice, ${lacking.length} lost`,
      twice === 0 && lacking.length === 0,
    );
  }

  #checkRecords(): void {
    const verified = this.#ptcCommand("runs", "verify");
    this.#checks.check("the archive verifies", verified.text, verified.ok);
    const path = join(this.#options.directory, ".ptc/audit.jsonl");
    const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n").slice(0, -1) : [];
    const audited = new Set(lines.map((line) => (JSON.parse(line) as { run_id?: unknown }).run_id));
    const answered = this.#all.flatMap(({ envelope }) => (envelope === undefined ? [] : [envelope.run_id]));
    const lacking = answered.filter((id) => !audited.has(id));
    this.#checks.check(
      "the audit log has every run that was answered",
      `${lines.length} lines, ${answered.length} runs answered, ${lacking.length} lacking`,
      lacking.length === 0,
    );
  }

  #ptcCommand(...args: string[]): { ok: boolean; text: string } {
    const { command, directory } = this.#options;
    const [executable = "", ...first] = command;
    try {
      const text = execFileSync(executable, [...first, ...args], {
        cwd: directory,
        env: environmentIn(directory),
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
      return { ok: true, text: text.trim().split("\n").at(-1) ?? "" };
    } catch (error) {
      return { ok: false, text: String(error) };
    }
  }

  #calls(): string[] {
    return readFileSync(this.#log, "utf8").split("\n").slice(0, -1);
  }

  /** Waits until a call was made. */
  async #noted(id: string): Promise<void> {
    if (!(await until(() => this.#calls().includes(id)))) throw new Error(`the call ${id} was never made`);
  }
}

function isAsExpected({ kind, envelope, refused }: SoakRun): boolean {
  if (kind.cancelAfterMs !== undefined) return envelope === undefined && /abort|cancel/i.test(refused ?? "");
  if (envelope === undefined) return false;
  return envelope.result.ok ? kind.failure === undefined : envelope.result.error.type === kind.failure;
}

function renderRun({ id, kind, envelope, refused }: SoakRun): string {
  const outcome =
    envelope?.result.ok === false ? `${envelope.result.error.type}: ${envelope.result.error.message}` : "ok";
  return `${id} (${kind.name}) ${envelope === undefined ? refused : outcome}`.slice(0, 200);
}

function shuffled<T>(values: readonly T[]): T[] {
  return values
    .map((value) => ({ value, order: Math.random() }))
    .sort((a, b) => a.order - b.order)
    .map(({ value }) => value);
}
