import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { FailureType } from "../../../protocol/failure.ts";
import { Random } from "../../fuzz/random.ts";
import { type Rules, writeText } from "../written-text.ts";

export interface GeneratedProgram {
  code: string;
  tricks: string[];
  /** What may become of it. */
  outcomes: ReadonlySet<"ok" | FailureType>;
}

interface Grammar {
  prelude: string;
  tricks: Record<string, { code: string; allows?: ("BROKEN" | FailureType)[] }>;
  places: string[];
  rules: Rules;
}

const readGrammar = (name: string): Grammar => parse(readFileSync(join(import.meta.dirname, name), "utf8"));
const IN_NODE = readGrammar("hostile-programs.yaml");

/** What the tricks have in common: modules, the runner's own connection, and frames as the wire has them. */
export const PRELUDE = IN_NODE.prelude;
/** Any program may end so, on a machine that is busy enough. */
const ALWAYS = ["ok", "ScriptError", "Timeout"] as const;
/** What becomes of a program that breaks its runner. */
const BROKEN = [
  "ContractViolation",
  "ScriptError",
  "ToolError",
  "OutputLimit",
  "ResultNotSerializable",
] as const;

/** A hostile program that a seed decides: a few tricks in random order, each at once, later, or where nobody looks. */
export function generateProgram(seed: number): GeneratedProgram {
  return generate(IN_NODE, seed);
}

const ESCAPES = readGrammar("hostile-in-interpreter.yaml");
const IN_INTERPRETER: Grammar = { ...ESCAPES, rules: { ...IN_NODE.rules, ...ESCAPES.rules } };

/** The same for an interpreter without Node.js: a program that tries to get out of it. */
export function generateProgramInInterpreter(seed: number): GeneratedProgram {
  return generate(IN_INTERPRETER, seed);
}

/** One that plays this trick. */
export function programInInterpreter(trick: string): GeneratedProgram {
  return {
    code: `${IN_INTERPRETER.prelude}\n/* */ ${trick}`,
    tricks: [trick],
    outcomes: new Set([...ALWAYS, ...BROKEN]),
  };
}

function generate(grammar: Grammar, seed: number): GeneratedProgram {
  const random = new Random("program", seed);
  const chosen = random.list(random.between(1, 4), () => random.pick(Object.entries(grammar.tricks)));
  const statements = chosen.map(([name, { code }]) => {
    const trick = [`/* ${name} */ ${writeText(random, code, grammar.rules)}\n`];
    return writeText(random, random.pick(grammar.places), { trick });
  });
  const allowed = chosen.flatMap(([, { allows = ["BROKEN" as const] }]) => allows);
  return {
    code: [grammar.prelude, ...statements].join("\n"),
    tricks: chosen.map(([name]) => name),
    outcomes: new Set([...ALWAYS, ...allowed.flatMap((each) => (each === "BROKEN" ? BROKEN : [each]))]),
  };
}
