import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, onTestFinished, vi } from "vitest";
import type { FunctionTool, Ptc, PtcOptions } from "../../library/ptc.ts";
import { createPtc, tool } from "../../library/ptc.ts";
import { ENGINE } from "../../project/sandboxes/engine.ts";
import { ProcessEngine } from "../runner-image/process-engine.ts";
import { newFolder } from "../temporary-folder.ts";

/** Has programs run in processes of this machine, without a wall: for claims about what surrounds them. */
export function useNoWalls(engine = new ProcessEngine()): void {
  beforeAll(() => {
    const opened = vi.spyOn(ENGINE, "open").mockReturnValue(engine);
    return () => opened.mockRestore();
  });
}

/** The variables of a ptc whose state is in a folder. */
export function variablesIn(folder: string): Record<string, string | undefined> {
  const run = join(folder, "run");
  mkdirSync(run, { recursive: true, mode: 0o700 });
  return {
    PATH: process.env.PATH,
    HOME: folder,
    XDG_RUNTIME_DIR: run,
    XDG_STATE_HOME: join(folder, "state"),
    PTC_KEYRING: "off",
  };
}

/** Opens ptc in a folder of its own until the test is over. A warning fails the test, unless it is collected. */
export async function openPtc(options: PtcOptions = {}): Promise<Ptc & { folder: string }> {
  const folder = options.cwd ?? newFolder();
  const ptc = await openPtcIn(folder, options);
  onTestFinished(() => ptc.close());
  return Object.assign(ptc, { folder });
}

/** Opens one ptc for all tests of a file, before the first of them. */
export function usePtcOfFile(options: PtcOptions): () => Ptc {
  let opened: Ptc | undefined;
  beforeAll(async () => {
    const folder = mkdtempSync(join(tmpdir(), "ptc-test-"));
    const ptc = await openPtcIn(folder, options);
    opened = ptc;
    return async () => {
      await ptc.close();
      rmSync(folder, { recursive: true, force: true });
    };
  });
  return () => {
    if (opened === undefined) throw new Error("ptc is opened before the first test");
    return opened;
  };
}

function openPtcIn(folder: string, { config = {}, ...options }: PtcOptions): Promise<Ptc> {
  // One program needs no sandbox that waits for another.
  const own = typeof config === "string" ? config : { sandbox: { warm: 0 }, ...config };
  return createPtc({
    cwd: folder,
    env: variablesIn(folder),
    onWarning: (message) => {
      throw new Error(message);
    },
    ...options,
    config: own,
  });
}

/** A program that reads, and then makes a call that a person has to approve. */
export const PAY =
  "const order = await mcp__functions__read({}); globalThis.result = await mcp__functions__pay({ order });";

/** The functions that it calls, and what was called of them. */
export function paying(): { tools: Record<string, FunctionTool>; paid: string[] } {
  const paid: string[] = [];
  const input = { type: "object", properties: { order: { type: "number" } }, required: ["order"] };
  const read = tool({
    description: "Reads which order to pay back",
    annotations: { readOnlyHint: true },
    execute: () => {
      paid.push("read");
      return 7;
    },
  });
  const pay = tool({
    description: "Pays an order back",
    input,
    annotations: { destructiveHint: true },
    execute: ({ order }) => {
      paid.push(`pay ${order}`);
      return `paid ${order}`;
    },
  });
  return { tools: { read, pay }, paid };
}

/** The last ticket that a model was told. */
export function ticketIn(told: string): string {
  return [...told.matchAll(/ticket ([0-9a-f]{16})/g)].at(-1)?.[1] ?? "none";
}
