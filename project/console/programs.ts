import { messageOf } from "../../base/faults.ts";
import { oneLine } from "../../base/visible-text.ts";
import type { Viewer } from "../../broker/policy/authorizer.ts";
import type { TestedProgram } from "../../console/parts.ts";
import type { Host } from "../host.ts";

const MAX_LINES = 50;
const MAX_LINE_CHARS = 500;

/**
 * Tests a saved program for somebody who looks at it in the console, as `ptc test` does: without any server, and when it is their turn, as
 * a test is made of replays. Resolves with `undefined` where there is no such program. Never rejects.
 */
export async function testForConsole(
  host: Pick<Host, "configuration" | "currentTools" | "check" | "replay" | "replays">,
  viewer: Viewer,
  name: string,
  signal: AbortSignal,
): Promise<TestedProgram | undefined> {
  const tested = (outcome: TestedProgram["outcome"], lines: readonly string[]): TestedProgram => ({
    at: Date.now(),
    outcome,
    lines: lines.slice(0, MAX_LINES).map((line) => oneLine(line, MAX_LINE_CHARS)),
  });
  try {
    const tools = await host.currentTools();
    const program = tools.programs?.programs.find((each) => each.name === name);
    if (program === undefined) return undefined;
    const { testProgram } = await import("../programs/test-program.ts");
    const { configuration } = host;
    const taken = await host.replays.take({ ...viewer, source: "replay" }, signal, () =>
      testProgram(program, { configuration, host, tools, viewer, signal }),
    );
    if (!taken.ok) return tested("failed", [taken.why]);
    const { outcome, lines, notes = [] } = taken.value;
    return tested(outcome, [...lines, ...notes]);
  } catch (error) {
    return tested("failed", [messageOf(error)]);
  }
}
