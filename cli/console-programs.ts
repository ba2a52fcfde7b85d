import { messageOf } from "../base/faults.ts";
import { oneLine } from "../base/visible-text.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";
import type { TestedProgram } from "../console/pages/programs.ts";
import type { Host } from "../wiring/host.ts";

const MAX_LINES = 50;
const MAX_LINE_CHARS = 500;

/**
 * Tests a saved program for somebody who looks at it in the console, as `ptc test` does: without any server. Resolves with `undefined`
 * where there is no such program. Never rejects.
 */
export async function testForConsole(
  host: Pick<Host, "configuration" | "currentTools" | "check" | "replay">,
  viewer: Viewer,
  name: string,
  signal: AbortSignal,
): Promise<TestedProgram | undefined> {
  const tested = (outcome: TestedProgram["outcome"], lines: readonly string[]): TestedProgram => ({
    ...{ at: Date.now(), outcome },
    lines: lines.slice(0, MAX_LINES).map((line) => oneLine(line, MAX_LINE_CHARS)),
  });
  try {
    const tools = await host.currentTools();
    const program = tools.programs?.programs.find((each) => each.name === name);
    if (program === undefined) return undefined;
    const { testProgram } = await import("./test-program.ts");
    const { configuration } = host;
    const found = await testProgram(program, { configuration, host, tools, viewer, signal });
    return tested(found.outcome, [...found.lines, ...(found.notes ?? [])]);
  } catch (error) {
    return tested("failed", [messageOf(error)]);
  }
}
