/** The test of a saved program: its types, and its recorded example, which runs again without any server. */

import { messageOf } from "../../base/faults.ts";
import { writeJson } from "../../base/json.ts";
import { visibleLine } from "../../base/visible-text.ts";
import { withExactNumbers } from "../../broker/exact-numbers.ts";
import type { Viewer } from "../../broker/policy/authorizer.ts";
import { describeProblem } from "../../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../../broker/schemas/schema-validator.ts";
import type { Configuration } from "../../configuration/configuration.ts";
import { ConfigurationError } from "../../configuration/configuration-error.ts";
import type { ObservedCall } from "../../execution/call-log.ts";
import { compareCallOrder } from "../../execution/replay/compare-calls.ts";
import { firstDifference } from "../../execution/replay/first-difference.ts";
import type { Replayed } from "../../execution/replay/replay-program.ts";
import { loadPrinterOr } from "../../languages/languages.ts";
import { callByName } from "../../programs/call-by-name.ts";
import { type Example, readExample, recordedRun } from "../../programs/example.ts";
import { requireSchemas } from "../../programs/program-folder.ts";
import { type NamedProgram, textToCheck } from "../../programs/saved-programs.ts";
import { MAX_KEPT_OUTPUT_BYTES } from "../../protocol/limits.ts";
import { PROGRAMS_MODULE } from "../../protocol/tool-names.ts";
import { moduleUrl } from "../../system/package.ts";
import type { ProgramTools } from "../../tools/program-tools.ts";
import type { Host } from "../host.ts";
import { LOCAL_USER } from "../local-user.ts";
import { openHost } from "../open-host.ts";
import type { Project } from "../open-project.ts";
import { Refusal } from "../refusal.ts";
import { explainMissing } from "./named-program.ts";

/** The result of testing a saved program. */
export interface ProgramTest {
  name: string;
  /**
   * `same`: it does what its example recorded. `untested`: it has no example. `changed`: it, or a tool that it calls, differs from the
   * recording. `failed`: it is wrong, or fails now. `no-sandbox`: nothing can run here.
   */
  outcome: "same" | "untested" | "changed" | "failed" | "no-sandbox";
  /** Differences and errors, as lines for a person. */
  lines: string[];
  /** Checks that could not be made, as lines for a person. */
  notes?: string[];
  calls?: number;
}

interface TestParts {
  configuration: Configuration;
  host: Pick<Host, "check" | "replay">;
  tools: ProgramTools;
  viewer: Viewer;
  signal: AbortSignal;
}

/**
 * Tests saved programs one after the other, until the signal, or until nothing can run here.
 *
 * @param names the programs; by default all.
 * @throws Refusal if there is no program of a name.
 */
export async function* testPrograms(
  project: Project,
  names: readonly string[],
  signal: AbortSignal,
): AsyncGenerator<ProgramTest> {
  const { configuration } = project;
  const tools = await project.tools();
  const { programs = [], problems = new Map<string, string>() } = tools.programs ?? {};
  const known = [...programs.map(({ name }) => name), ...problems.keys()].sort();
  const unknown = names.find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Refusal(explainMissing(`there is no saved program '${visibleLine(unknown)}'`, unknown, known));
  const host = openHost(project, { warm: programs.length > 1 ? configuration.sandbox.warm : 0 });
  for (const name of names.length === 0 ? known : names) {
    if (signal.aborted) return;
    const found = programs.find((each) => each.name === name);
    const tested: ProgramTest =
      found === undefined
        ? { name, outcome: "failed", lines: [problems.get(name) ?? ""] }
        : await testProgram(found, { configuration, host, tools, viewer: LOCAL_USER, signal });
    yield tested;
    if (tested.outcome === "no-sandbox") return;
  }
}

/**
 * Tests one saved program: its manifest and types against the present tools, the definitions of the tools that it called, and its
 * recorded example, which runs again without any server. Never throws for errors of the program.
 */
export async function testProgram(program: NamedProgram, parts: TestParts): Promise<ProgramTest> {
  const { name } = program;
  const { host, viewer, tools } = parts;
  const failed = (...lines: string[]): ProgramTest => ({ name, outcome: "failed", lines });
  try {
    await requireSchemas(program);
  } catch (error) {
    if (error instanceof ConfigurationError) return failed(error.message);
    throw error;
  }
  const checked = await host.check(textToCheck(program), viewer, tools);
  if (!checked.ok) return failed(...checked.message.split("\n"));
  const tested = await testExample(program, parts);
  const { unchecked } = checked;
  return unchecked === undefined
    ? tested
    : { ...tested, notes: [`its types could not be checked: ${unchecked}`] };
}

async function testExample(program: NamedProgram, parts: TestParts): Promise<ProgramTest> {
  const { name } = program;
  const failed = (...lines: string[]): ProgramTest => ({ name, outcome: "failed", lines });
  let example: Example | undefined;
  try {
    example = readExample(program, parts.configuration);
  } catch (error) {
    if (error instanceof ConfigurationError) return failed(error.message);
    throw error;
  }
  if (example === undefined)
    return { name, outcome: "untested", lines: ["no recorded example; `ptc save RUN --force` adds one"] };
  const validator = new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  try {
    const input = await validator.check(
      program.manifest.input,
      withExactNumbers(program.manifest.input, example.data),
    );
    if (input !== undefined)
      return failed(`the recorded data does not fit \`input\`: ${describeProblem("data", input)}`);
    const lines = await compareDefinitions(example, parts, validator);
    const replayed = await replay(program, example, parts);
    if (replayed.envelope.result.ok === false && replayed.envelope.result.error.type === "SandboxUnavailable")
      return { name, outcome: "no-sandbox", lines: [replayed.envelope.result.error.message] };
    const { result } = replayed.envelope;
    const wasOk = example.envelope.result.ok;
    const behaviour = compareBehaviour(example, replayed);
    lines.push(...behaviour);
    if (wasOk && !result.ok && result.error.type !== "ReplayDiverged") return failed(...lines);
    if (result.ok && program.manifest.output !== undefined) {
      const output = await validator.check(
        program.manifest.output,
        withExactNumbers(program.manifest.output, result.data),
      );
      if (output !== undefined)
        return failed(...lines, `its value does not fit \`output\`: ${describeProblem("value", output)}`);
    }
    const calls = example.calls.length;
    return { name, outcome: lines.length === 0 ? "same" : "changed", lines, calls };
  } catch (error) {
    return failed(messageOf(error));
  } finally {
    await validator.close();
  }
}

/** The differences in the tools that the program called. */
async function compareDefinitions(
  example: Example,
  { tools: { all, callableFor }, viewer }: TestParts,
  validator: IsolatingValidator,
): Promise<string[]> {
  const lines: string[] = [];
  const callable = callableFor(viewer);
  for (const { tool: name, digest } of example.tools) {
    const tool = all.get(name);
    // A difference in another saved program shows in the calls.
    if (tool?.server === PROGRAMS_MODULE) continue;
    if (tool === undefined) {
      lines.push(`${name}: no server lists it now`);
      continue;
    }
    if (callable.get(name) === undefined) lines.push(`${name}: the configuration no longer allows it`);
    if (tool.definitionDigest === digest) continue;
    lines.push(`${name}: its definition has changed since the example was recorded`);
    for (const call of example.calls.filter((each) => each.tool === name)) {
      const problem = await validator.check(
        tool.inputSchema,
        withExactNumbers(tool.inputSchema, call.arguments),
        tool.server,
      );
      if (problem === undefined) continue;
      lines.push(`  a recorded call does not fit it: ${describeProblem("arguments", problem)}`);
      break;
    }
  }
  return lines;
}

interface Tried extends Replayed {
  made: ObservedCall[];
}

async function replay(program: NamedProgram, example: Example, parts: TestParts): Promise<Tried> {
  const { execution } = parts.configuration;
  const { code, language, fileName } = program;
  const own = example.by_name
    ? callByName(program, example.data)
    : { code, language, fileName, data: example.data };
  const printer = await loadPrinterOr(language);
  const made: ObservedCall[] = [];
  const replayed = await parts.host.replay({
    run: recordedRun(example, own),
    modules: parts.tools.modulesFor(parts.viewer, printer),
    limits: {
      ...execution,
      timeoutMs: program.manifest.timeoutMs ?? execution.timeoutMs,
      maxKeptBytes: MAX_KEPT_OUTPUT_BYTES,
    },
    typecheck: "off",
    // The recorded order of answers applies only to exactly the recorded text.
    edited: program.digest === example.program ? undefined : own,
    onCall: (call) => void made.push(call),
    signal: parts.signal,
  });
  return { ...replayed, made };
}

/** How a run differs from the example, as lines. */
function compareBehaviour(
  example: Example,
  { envelope, emitted, made, divergence, undecided }: Tried,
): string[] {
  if (undecided !== undefined) return [`not compared: ${undecided}`];
  const { result: was } = example.envelope;
  const { result: is } = envelope;
  // A call that was not recorded has no answer, and ends the program.
  const isEnded = divergence !== undefined && made.length <= example.calls.length;
  const calls = compareCallOrder(
    isEnded ? example.calls.slice(0, made.length) : example.calls,
    [...made].sort((a, b) => a.seq - b.seq),
  );
  const lines = calls.length === 0 ? [] : ["calls:", ...calls.map((line) => `  ${line}`)];
  if (divergence !== undefined && lines.length === 0) lines.push(divergence);
  if (!is.ok && is.error.type === "ReplayDiverged") return lines;
  if (!is.ok) {
    if (was.ok || was.error.message !== is.error.message)
      lines.push(...`it fails: ${is.error.type}: ${is.error.message}`.split("\n"));
    return lines;
  }
  const difference = was.ok
    ? firstDifference(was.data, is.data)
    : { path: "", expected: "a failure", got: "a value" };
  if (difference !== undefined) {
    const { path, expected, got } = difference;
    lines.push(`result${path}:`, `  - ${expected}`, `  + ${got}`);
  }
  if (writeJson(example.emitted) !== writeJson(emitted)) lines.push("what it emits differs");
  return lines;
}
