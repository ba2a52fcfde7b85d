import { withExactNumbers } from "../broker/exact-numbers.ts";
import type { Viewer } from "../broker/policy/authorizer.ts";
import { describeProblem } from "../broker/schemas/schema-problem.ts";
import { IsolatingValidator } from "../broker/schemas/schema-validator.ts";
import { withoutNulls } from "../catalog/arguments.ts";
import { whyNotOn } from "../languages/languages.ts";
import type { Program } from "../languages/program.ts";
import { callByName } from "../programs/call-by-name.ts";
import { moduleUrl } from "../system/package.ts";
import type { ProgramTools } from "./program-tools.ts";

/** A saved program that `ptc serve` lists as a tool. */
export interface ExposedProgram {
  /** The tool's name. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema: Readonly<Record<string, unknown>> | undefined;
  readonly timeoutMs: number | undefined;
  /** The program that a call of the tool runs. The broker checks its arguments like those of any call. */
  call(args: unknown): Program;
  /** Why the output schema does not allow a value, in one line. */
  checkValue(value: unknown): Promise<string | undefined>;
}

/** The saved programs that a viewer sees as tools: those with `expose`, that the policy shows, and whose language is on. */
export function exposedPrograms(
  { programs, callableFor }: ProgramTools,
  viewer: Viewer,
  languages: readonly string[],
): ExposedProgram[] {
  const exposed = programs?.programs.filter(({ manifest }) => manifest.expose) ?? [];
  const view = exposed.length === 0 ? undefined : callableFor(viewer);
  return exposed
    .filter(
      ({ tool, language }) => view?.get(tool.namespacedName) && whyNotOn(language, languages) === undefined,
    )
    .map((program) => {
      const { tool, manifest } = program;
      return {
        name: tool.name,
        description: manifest.description,
        inputSchema: manifest.input,
        outputSchema: manifest.output,
        timeoutMs: manifest.timeoutMs,
        call: (args) => callByName(program, withoutNulls(manifest.input, args ?? {})),
        checkValue: async (value) =>
          manifest.output === undefined ? undefined : checkValue(manifest.output, value),
      };
    });
}

let validator: IsolatingValidator | undefined;

/** Why a schema does not allow a value, in one line. Nothing is loaded before the first value. */
export async function checkValue(schema: unknown, value: unknown): Promise<string | undefined> {
  validator ??= new IsolatingValidator(moduleUrl("broker/schemas/schema-worker"));
  const problem = await validator.check(schema, withExactNumbers(schema, value));
  return problem && describeProblem("value", problem);
}
