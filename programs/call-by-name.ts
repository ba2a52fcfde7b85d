import { extname } from "node:path";
import { programFunction, toolNameOf } from "../catalog/program-name.ts";
import { findLanguage, type LanguageFacts } from "../languages/language.ts";
import { LANGUAGES } from "../languages/languages.ts";
import type { Program } from "../languages/program.ts";
import type { NamedProgram } from "./saved-programs.ts";

/** Two texts of programs, one with `await` and one without. */
const WAYS_TO_WAIT = ["await", ""];

/**
 * The program that runs a saved program by its name. It names the digest of the saved program, so that the input digest of the run
 * differs between versions of the saved program.
 */
export function callByName(
  program: Pick<NamedProgram, "name" | "language" | "digest" | "code">,
  data: unknown,
): Program {
  const { callSaved, unnamed } = findLanguage(LANGUAGES, program.language) as LanguageFacts;
  return {
    code: callSaved({ ...namesOf(program.name), digest: program.digest, code: program.code }),
    data,
    language: unnamed.language,
    fileName: `run-${program.name}${extname(unnamed.fileName)}`,
  };
}

/** The name of the saved program that a program only runs; `undefined` for any other program. */
export function calledByName(code: string): string | undefined {
  const [, name = "", digest = ""] = /^(?:\/\/|#) ([a-z0-9-]+) (sha256:[0-9a-f]{64})\n/.exec(code) ?? [];
  if (name === "") return undefined;
  const forms = LANGUAGES.flatMap(({ callSaved }) =>
    WAYS_TO_WAIT.map((called) => callSaved({ ...namesOf(name), digest, code: called })),
  );
  return forms.includes(code) ? name : undefined;
}

function namesOf(name: string): { name: string; functionName: string; toolName: string } {
  return { name, functionName: programFunction(name), toolName: toolNameOf(name) };
}
