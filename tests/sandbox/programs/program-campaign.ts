/** Runs generated programs in real sandboxes and checks each against one list of what must always hold. */
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ArchivedRun } from "../../../archive/archived-run.ts";
import { AuditLog } from "../../../archive/audit/audit-log.ts";
import { openForReading } from "../../../archive/sqlite/connection.ts";
import { SqliteArchiveWriter } from "../../../archive/sqlite/writer/sqlite-archive-writer.ts";
import { ArchivingRecorder } from "../../../execution/record/record-runs.ts";
import type { BegunRun, RunRecorder } from "../../../execution/record/run-recorder.ts";
import { inputDigest } from "../../../languages/program.ts";
import type { SandboxEngine } from "../../../sandbox/sandbox-engine.ts";
import { Redactor } from "../../../secrets/redaction.ts";
import { readRun, verifyArchive } from "../../archive/on-connection.ts";
import { checkEnvelope } from "../../fuzz/check-envelope.ts";
import { FuzzFailure, type FuzzTarget } from "../../fuzz/fuzz-target.ts";
import { heldBytes } from "../../fuzz/host-load.ts";
import { TopOfProcess } from "../../fuzz/top-of-process.ts";
import { type Ran, RealSandboxes } from "../real-sandboxes.ts";
import { type GeneratedProgram, generateProgram } from "./generated-programs.ts";

/** Where programs run, other than on the tested engine. */
interface CampaignPlace {
  sandboxes?: { open: (folder: string) => SandboxEngine; image: string };
  generate?: (seed: number) => GeneratedProgram;
  /** The file that has the test of one program, for its seed in PTC_PROGRAM_SEED. */
  test?: string;
  timeoutMs?: number;
  /** The data of every program. */
  data?: unknown;
  /** Looks at what a program may have done besides. @throws AssertionError */
  look?: (ran: Ran) => void | Promise<void>;
}

const HERE = "tests/sandbox/programs/generated-programs.real.test.ts";
const LIMITS = { timeoutMs: 4_000, maxOutputBytes: 16_384, maxStderrBytes: 16_384, maxToolCalls: 500 };
const SAID_BYTES = Buffer.byteLength("\n... (truncated)\n");

/** What is recorded of runs, in a folder of its own. */
class Records implements RunRecorder {
  readonly begun: BegunRun[] = [];
  readonly failures: string[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "ptc-programs-"));
  readonly #archive = new SqliteArchiveWriter({ path: join(this.#folder, "archive.db"), keepDays: 30 });
  readonly #redactor = new Redactor([]);
  readonly #auditPath = join(this.#folder, "audit.jsonl");
  readonly #audit = new AuditLog({
    path: this.#auditPath,
    clock: { wallMs: Date.now },
    redact: (name) => this.#redactor.redactText(name).value,
    onFailure: (message) => void this.failures.push(message),
  });

  begin(run: BegunRun): ReturnType<RunRecorder["begin"]> {
    this.begun.push(run);
    const recorder = new ArchivingRecorder({
      archive: this.#archive,
      audit: this.#audit,
      redactor: this.#redactor,
      tools: new Map(),
      servers: new Map(),
      context: { principal: "local", source: "run" },
      versions: { ptc: "0.0.0", node: process.versions.node },
      clock: { wallMs: Date.now },
    });
    return recorder.begin(run);
  }

  /** The audit log's lines about a run, when it is written. */
  async auditOf(runId: string): Promise<{ event: string; run_id: string; outcome?: string }[]> {
    await this.#audit.close();
    const lines = existsSync(this.#auditPath) ? readFileSync(this.#auditPath, "utf8").split("\n") : [];
    const read = lines.filter((line) => line !== "").map((line) => JSON.parse(line));
    return read.filter(({ run_id }) => run_id === runId);
  }

  /** The run as it was archived, every digest of it checked. */
  async archived(runId: string): Promise<ArchivedRun> {
    const db = openForReading(join(this.#folder, "archive.db"));
    try {
      return await readRun(db, runId);
    } finally {
      db.close();
    }
  }

  async problems(): Promise<string[]> {
    const db = openForReading(join(this.#folder, "archive.db"));
    try {
      return (await verifyArchive(db)).problems;
    } finally {
      db.close();
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#archive.close(), this.#audit.close()]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Many programs, one after the other, on one host that has to outlive them all. */
export class ProgramCampaign {
  readonly #records = new Records();
  readonly #top = new TopOfProcess();
  readonly #place: CampaignPlace;
  readonly #sandboxes: RealSandboxes;

  constructor(place: CampaignPlace = {}) {
    this.#place = place;
    const tools = {
      echo: (args: Record<string, unknown>) => args,
      fail: () => {
        throw new Error("out of order");
      },
    };
    this.#sandboxes = new RealSandboxes(tools, { recorder: this.#records, ...place.sandboxes });
  }

  /** Runs the program of a seed, and returns what became of it. @throws FuzzFailure where anything does not hold. */
  run(seed: number): Promise<string> {
    const { generate = generateProgram, test = HERE } = this.#place;
    const again = `again: PTC_PROGRAM_SEED=${seed} npx vitest run ${test}`;
    return this.runProgram(generate(seed), `seed ${seed}`, again);
  }

  /** @throws FuzzFailure */
  async runProgram(program: GeneratedProgram, name: string, again = ""): Promise<string> {
    try {
      const { data = {}, timeoutMs = LIMITS.timeoutMs, look } = this.#place;
      const ran = await this.#sandboxes.run(program.code, { data, limits: { ...LIMITS, timeoutMs } });
      await this.#check(program, ran, data);
      await look?.(ran);
      return ran.result.ok ? "ok" : ran.result.error.type;
    } catch (error) {
      const lines = [
        `program of ${name} (${program.tricks.join("; ")}): ${error instanceof Error ? error.stack : error}`,
        again,
        program.code.slice(program.code.indexOf("/* ")),
      ];
      throw new FuzzFailure(lines.join("\n"));
    }
  }

  async close(): Promise<void> {
    const { result } = await this.#sandboxes.run(
      "globalThis.result = await callTool('mcp__desk__echo', { a: 1 });",
    );
    const problems = await this.#records.problems();
    this.#top.release();
    await this.#records.close();
    this.#sandboxes.close();
    assert.deepEqual(result.ok && result.data, { a: 1 }, "the host runs no more programs");
    assert.deepEqual(problems, []);
  }

  async #check({ code, outcomes }: GeneratedProgram, ran: Ran, data: unknown): Promise<void> {
    const { envelope, result, console } = ran;
    checkEnvelope(envelope, LIMITS.maxOutputBytes);
    const begun = this.#records.begun.at(-1);
    assert.equal(envelope.run_id, begun?.runId, "the run id is not the host's");
    assert.equal(envelope.trace_id, begun?.traceId, "the trace id is not the host's");
    assert.equal(envelope.input_digest, inputDigest({ code, data, language: "javascript", fileName: "" }));
    assert.equal(envelope.approval_state, "NOT_REQUIRED");
    assert.equal(envelope.tool_version, "0.0.0");
    assert.match(envelope.sandbox_image ?? "", /^sha256:/);
    const outcome = result.ok ? "ok" : result.error.type;
    const message = result.ok ? "" : result.error.message;
    assert.ok(outcomes.has(outcome), `it ended as ${outcome}: ${message}`);
    assert.ok(result.metrics.tool_calls <= LIMITS.maxToolCalls, "it made more calls than it may");
    assert.ok(Buffer.byteLength(console.out) <= LIMITS.maxOutputBytes + SAID_BYTES, "too much is shown");
    assert.equal(await ran.recorded, undefined, "it is not archived");
    const archived = await this.#records.archived(envelope.run_id);
    assert.deepEqual(archived.envelope, JSON.parse(JSON.stringify(envelope)));
    assert.equal(archived.record.calls.length, result.metrics.tool_calls, "a call is not archived");
    const audited = await this.#records.auditOf(envelope.run_id);
    assert.deepEqual(
      audited.filter(({ event }) => event === "run").map((line) => line.outcome),
      [outcome],
      "there is not one audit line",
    );
    assert.equal(audited.filter(({ event }) => event === "call").length, result.metrics.tool_calls);
    assert.deepEqual(this.#records.failures, []);
    assert.deepEqual(await this.#sandboxes.leftovers(), [], "something is left of its sandbox");
    assert.deepEqual(Object.keys(Object.prototype), [], "the host's prototypes are polluted");
    assert.equal(this.#top.takeError()?.error, undefined, "an error got to the top of the process");
  }
}

/** For `npm run fuzz -- --target programs`. */
export const target: FuzzTarget = campaignTarget("programs", async () => new ProgramCampaign());

/** A target whose inputs are the programs of seeds. */
export function campaignTarget(name: string, open: () => Promise<ProgramCampaign>): FuzzTarget {
  return { name, run: (seed, iterations, onProgress) => runSeeds(open, seed, iterations, onProgress) };
}

async function runSeeds(
  open: () => Promise<ProgramCampaign>,
  seed: number,
  iterations: number,
  onProgress: Parameters<FuzzTarget["run"]>[2] = () => {},
): Promise<void> {
  const campaign = await open();
  const heldAtFirst = heldBytes();
  try {
    for (let i = 0; i < iterations; i++) {
      const outcome = await campaign.run(seed + i);
      console.log(`program of seed ${seed + i}: ${outcome}`);
      if (i % 20 === 19)
        onProgress({ iterations: i + 1, maxDelayMs: 0, grownBytes: heldBytes() - heldAtFirst });
    }
  } catch (error) {
    await campaign.close().catch(() => {});
    throw error;
  }
  await campaign.close();
}
