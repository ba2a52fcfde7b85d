import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { expect, onTestFinished } from "vitest";
import { RUNNER_STARTS } from "../../../languages/languages.ts";
import { DockerSandboxEngine } from "../../../sandbox/docker/docker-sandbox-engine.ts";
import { WarmPool, type WarmPoolOptions } from "../../../sandbox/pool/warm-pool.ts";
import { SandboxStarter } from "../../../sandbox/sandbox-starter.ts";
import { FakeEngine } from "./fake-engine.ts";

/** @param size how many wait; `maxSize` of them while many programs come. */
type Options = Omit<WarmPoolOptions, "bounds"> & { size: number; maxSize?: number };

/** A pool over a fake engine. */
export function openPool({ size, maxSize = size, ...options }: Options) {
  const engine = new FakeEngine();
  const base = mkdtempSync(join(tmpdir(), "ptc-p-"));
  const source = new SandboxStarter({
    engine: new DockerSandboxEngine(engine, { folder: base, runners: RUNNER_STARTS, channel: "socket" }),
    owner: "test",
    image: "ptc-runner",
    runtime: "runsc",
    limits: { memoryMb: 512, cpus: 1, pids: 256 },
  });
  const pool = new WarmPool(source, { bounds: { floor: size, ceiling: maxSize }, ...options });
  /** Folders of sandboxes on disk. */
  const folders = () => readdirSync(base);
  const close = async () => {
    engine.release("all");
    await pool.close();
    rmSync(base, { recursive: true, force: true });
  };
  return { engine, source, pool, folders, close };
}

/** As `openPool`, closed when the test is over. */
export function usePool(options: Options) {
  const opened = openPool(options);
  onTestFinished(opened.close);
  return opened;
}

/** As `usePool`, with as many waiting as it keeps. */
export async function useWarmPool(options: Options) {
  const opened = usePool(options);
  opened.pool.warm();
  await settled(opened.engine, options.size);
  return opened;
}

/** Waits until that many containers live, all have greeted, and what is left to do in the background is done. */
export async function settled(engine: FakeEngine, live: number): Promise<void> {
  await until(() => {
    expect(engine.live.size).toBe(live);
    for (const { socket } of engine.live.values()) expect(socket?.bytesWritten).not.toBe(0);
  });
  await turns();
}

const PATIENCE_NS = 60_000_000_000n;

/** Waits until an assertion holds. Lets no time of fake timers pass. */
export async function until(assertion: () => void): Promise<void> {
  const late = process.hrtime.bigint() + PATIENCE_NS;
  for (;;) {
    try {
      return assertion();
    } catch (error) {
      if (process.hrtime.bigint() > late) throw error;
    }
    await turns();
  }
}

/** Lets sockets and promises do what they can do by now. */
export async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** What a sandbox has said, to a reader that begins now. */
export async function readGreeting(channel: Duplex): Promise<string> {
  let said = "";
  channel.on("data", (chunk: Buffer) => {
    said += chunk;
  });
  await until(() => expect(said).not.toBe(""));
  return said;
}
