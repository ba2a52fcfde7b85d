/**
 * Nothing that somebody sends holds the loop of a server for more than 50 ms of processor time, whatever it is within its bounds. The
 * lists of targets are complete by what they are compared with: a new parser, page, route or tool without an entry fails here.
 * `npm run fuzz -- --target loop` tries the same with all inputs, and prints how long each took.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { RECORD_ROUTES } from "../../server/http/records.ts";
import { CONSOLE_ROUTES, OTHER_ROUTES } from "./console-routes.ts";
import { LOOP_TARGETS, type LoopTarget } from "./loop-targets.ts";
import { PARSERS } from "./parsers.ts";
import { leastHeldBy, MAX_HELD_MS } from "./probe.ts";
import { closeServers, sharedServers } from "./servers.ts";

const TIMEOUT_MS = 300_000;

/**
 * How far above its bound a turn is here before the test fails. The clock of a thread goes in steps of up to 4 ms, and no machine is
 * measured to the last tenth; what is wrong with a parser makes it slower by the length of the input, not by a half.
 */
const MARGIN = 2;

async function worstOf(target: LoopTarget): Promise<string[]> {
  const worse: string[] = [];
  for (const { what, work } of await target.operations()) {
    const boundMs = target.exemptMs ?? MAX_HELD_MS;
    const heldMs = await leastHeldBy(work, { boundMs });
    if (heldMs > MARGIN * boundMs) worse.push(`${what}: ${Math.round(heldMs)} ms`);
  }
  return worse;
}

afterAll(closeServers);

describe("the targets of the loop", () => {
  it("name every parser of foreign input", () => {
    const files = readdirSync(join(import.meta.dirname, "../fuzz/targets")).map((file) =>
      file.replace(/\.ts$/, ""),
    );
    expect(Object.keys(PARSERS).sort()).toEqual(files.sort());
  });

  it("name every route of the console", async () => {
    const { console } = await sharedServers();
    const routes = console.routes.filter((route) => !OTHER_ROUTES.some((other) => other.test(route)));
    expect([...new Set(routes)].sort()).toEqual(Object.keys(CONSOLE_ROUTES).sort());
  });

  it("name every route beside MCP, and every tool that models call", async () => {
    const { tools, asked } = await sharedServers();
    expect(Object.keys(asked.records).sort()).toEqual([...RECORD_ROUTES].sort());
    expect(Object.keys(asked.tools).sort()).toEqual([...tools].sort());
  });
});

describe("nobody holds the loop of a server by what they send to", () => {
  it.each(LOOP_TARGETS.map((target) => [target.name, target] as const))(
    "%s",
    async (_, target) => {
      expect(await worstOf(target)).toEqual([]);
    },
    TIMEOUT_MS,
  );
});
