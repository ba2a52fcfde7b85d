import { once } from "node:events";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { encodeFrame } from "../../protocol/frames.ts";
import { MAX_REPLY_FRAME_BYTES } from "../../protocol/limits.ts";
import type { RunnerName } from "../../protocol/runners.ts";
import type { SandboxEngine, StartedSandbox } from "../../sandbox/sandbox-engine.ts";
import { eventually } from "../eventually.ts";
import { CONTRACT_PROGRAMS } from "./contract-programs.ts";
import { keptOutput } from "./outputs.ts";

/** An engine under test, with an image and a runtime that it has. */
export interface EngineUnderTest {
  engine: SandboxEngine;
  image: string;
  runtime: string;
  /** The runner of the programs; Node.js's by default. */
  runner?: RunnerName;
  /** Whether its sandboxes are to be restored from a snapshot. */
  isRestored?: boolean;
  /** Makes what the engine needs. */
  open?(): void;
  close(): void | Promise<void>;
}

const LIMITS = { memoryMb: 512, cpus: 1, pids: 256 };
const OUTPUT_LIMITS = { max_output_bytes: 4 * 1024 * 1024, max_stderr_bytes: 1024 * 1024 };
/** As long as a sandbox is looked at that is to write nothing. */
const SILENCE_MS = 200;
const silence = () => new Promise((resolve) => setTimeout(resolve, SILENCE_MS));

/** A sandbox, and all that it has written until now. */
class Watched {
  readonly started: StartedSandbox;
  readonly written: { out: string; err: string; channel: string };

  private constructor(started: StartedSandbox, written: Watched["written"]) {
    this.started = started;
    this.written = written;
  }

  static async start(
    { engine, image, runtime, runner = "javascript" }: EngineUnderTest,
    owner: string,
  ): Promise<Watched> {
    const { written: kept, output } = keptOutput();
    const written = Object.assign(kept, { channel: "" });
    const found = await engine.findImage(image);
    const request = {
      image: found?.digest ?? "",
      runtime,
      runner,
      limits: LIMITS,
      owner,
    } as const;
    const started = await engine.start(request, output);
    const channel = await started.connected;
    channel.on("error", () => {});
    channel.on("data", (chunk: Buffer) => {
      written.channel += chunk;
    });
    await eventually(() => expect(written.channel).toContain('"hello"'));
    return new Watched(started, written);
  }

  async send(bundle: string, data: unknown = {}): Promise<void> {
    const program = { type: "program", bundle, data, ...OUTPUT_LIMITS };
    (await this.started.connected).write(encodeFrame(program, MAX_REPLY_FRAME_BYTES));
  }

  /** Runs a program to the end of its sandbox, and gives back its claim. */
  async run(bundle: string, data?: unknown): Promise<unknown> {
    await this.send(bundle, data);
    await this.started.exited;
    return JSON.parse(this.written.out);
  }
}

/** The contract of engines (sandbox/sandbox-engine.ts) as tests. Each engine runs them. */
export function describeEngine(
  name: string,
  open: () => EngineUnderTest,
  describeIt: (name: string, tests: () => void) => void = describe,
): void {
  describeIt(`the engine ${name}`, () => {
    const owner = `contract-${process.pid}`;
    const opened = open();
    const { engine } = opened;
    const programs = CONTRACT_PROGRAMS[opened.runner ?? "javascript"];
    const all: Watched[] = [];
    const start = async () => {
      const watched = await Watched.start(opened, owner);
      all.push(watched);
      return watched;
    };
    const listed = async () =>
      (await engine.list()).filter((each) => each.owner === owner).map(({ id }) => id);

    beforeAll(async () => {
      opened.open?.();
      if (opened.isRestored !== true) return;
      const image = (await engine.findImage(opened.image))?.digest ?? "";
      const request = {
        image,
        runtime: opened.runtime,
        runner: opened.runner ?? "javascript",
        limits: LIMITS,
        owner,
      } as const;
      await engine.snapshot?.(request);
      expect(await engine.describeSnapshot?.(request)).toBe("sandboxes are restored from one");
    });
    afterAll(() => opened.close());
    afterEach(async () => {
      for (const { started } of all.splice(0)) {
        await started.kill().catch(() => {});
        await started.removed();
        started.release();
        started.release();
      }
      await eventually(async () => expect(await listed()).toEqual([]));
    });

    test("lists a sandbox under its owner from its start until it has ended", async () => {
      const { started } = await start();
      expect(await listed()).toEqual([started.id]);
      await started.kill();
      await started.removed();
      await eventually(async () => expect(await listed()).toEqual([]));
    });

    test("knows its images by digest, and none of another name", async () => {
      expect((await engine.findImage(opened.image))?.digest).toMatch(/^sha256:[0-9a-f]{64}$/);
      expect(await engine.findImage("ptc-there-is-no-such-image")).toBeUndefined();
    });

    test("describes itself the same way each time", async () => {
      const described = await engine.describe();
      expect(described).toEqual(await engine.describe());
      for (const text of [described.version, described.identity, described.profile, described.endpoint])
        expect(text).not.toBe("");
    });

    test("has passed on all that a sandbox wrote, in order, when it says that the sandbox has ended", async () => {
      const sandbox = await start();
      const claim = await sandbox.run(programs.manyLines);
      expect(claim).toMatchObject({ ok: true, data: "y".repeat(1_500_000) });
      const numbers = [...sandbox.written.err.matchAll(/line (\d+) x{100}/g)].map(([, number]) =>
        Number(number),
      );
      expect(numbers).toEqual(Array.from({ length: 2_000 }, (_, line) => line));
    });

    test("carries what the host sends, however long", async () => {
      const claim = await (await start()).run(programs.lengthOfData, {
        text: `${"a".repeat(3_000_000)}z`,
      });
      expect(claim).toMatchObject({ ok: true, data: [3_000_001, "z"] });
    });

    test("gives the exit code of a runner that ended by itself", async () => {
      const sandbox = await start();
      await sandbox.send(programs.exitsWith7);
      expect(await sandbox.started.exited).toMatchObject({ code: 7 });
    });

    test("kills a busy sandbox, and does not call itself another", async () => {
      const sandbox = await start();
      await sandbox.send(programs.busy);
      await eventually(() => expect(sandbox.written.err).toContain("started"));
      await sandbox.started.kill();
      const { code, isKilledByOthers } = await sandbox.started.exited;
      expect([code, isKilledByOthers ?? false]).toEqual([137, false]);
      await sandbox.started.kill();
    });

    test("holds a program still from pause to resume", async () => {
      const sandbox = await start();
      const { started, written } = sandbox;
      await sandbox.send(programs.ticking);
      await eventually(() => expect(written.err).toContain("tick"));
      started.pause();
      const silentFor = async () => {
        const before = written.err.length;
        await silence();
        expect(written.err.length).toBe(before);
        return before;
      };
      // The pause, and what the program wrote before it, may still be on their way, with a gap between them on a busy machine.
      const before = await eventually(async () => {
        await silentFor();
        return silentFor();
      });
      started.resume();
      await eventually(() => expect(written.err.length).toBeGreaterThan(before));
    });

    test("clears a sandbox, whose runner then waits until it is resumed", async () => {
      const sandbox = await start();
      await sandbox.started.clear();
      await sandbox.send(programs.runs);
      await silence();
      expect(sandbox.written.err).toBe("");
      sandbox.started.resume();
      await sandbox.started.exited;
      expect(JSON.parse(sandbox.written.out)).toMatchObject({ ok: true, data: 1 });
    });

    test("has passed on all that a program wrote before a call when it is cleared after that", async () => {
      const sandbox = await start();
      const { started, written } = sandbox;
      await sandbox.send(programs.printsAndCalls);
      const channel = await started.connected;
      while (!written.channel.includes("waits_for_people")) await once(channel, "data");
      await started.clear();
      expect(written.err.split("x")).toHaveLength(100_001);
    });

    test("ends a sandbox that it has left, and one that is removed", async () => {
      const [left, removed] = await Promise.all([start(), start()]);
      left.started.leave();
      await engine.remove(removed.started.id);
      await Promise.all([left.started.exited, removed.started.exited]);
      await engine.remove(removed.started.id);
    });

    test("keeps apart what sandboxes do that were started at once", async () => {
      const sandboxes = await Promise.all([start(), start(), start()]);
      expect(new Set(sandboxes.map(({ started }) => started.id)).size).toBe(3);
      const claims = await Promise.all(
        sandboxes.map((sandbox, number) => sandbox.run(programs.number(number))),
      );
      expect(claims).toMatchObject([{ data: 0 }, { data: 1 }, { data: 2 }]);
      for (const [number, { written }] of sandboxes.entries())
        expect(written.err.match(/number \d/g)).toEqual([`number ${number}`]);
    });
  });
}
