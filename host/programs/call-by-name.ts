import { findLanguage, type LanguageFacts } from "../../execution/prepare/language.ts";
import type { Program } from "../../execution/program.ts";
import { LANGUAGES } from "../program-files.ts";
import { programFunction, toolNameOf } from "./program-name.ts";
import type { NamedProgram } from "./saved-programs.ts";

/** Whether a program in Python waits for its calls with \`await\`, as \`execution/python\` decides it. */
function awaits(code: string): boolean {
  return /\b(?:await|async)\b/.test(code);
}

/**
 * The program that a run of a saved program by its name is. It names the digest of what it calls, so that the input digest of the
 * run tells one version of the saved program from another.
 */
export function callByName(
  program: Pick<NamedProgram, "name" | "language" | "digest" | "code">,
  data: unknown,
): Program {
  const { name, language, digest, code } = program;
  const facts = findLanguage(LANGUAGES, language) as LanguageFacts;
  const isPython = facts.unnamed.language === "python";
  const suffix = isPython ? ".py" : ".ts";
  return {
    code: isPython ? pythonCall(name, digest, awaits(code)) : typescriptCall(name, digest),
    data,
    language: facts.unnamed.language,
    fileName: `run-${name}${suffix}`,
  };
}

function typescriptCall(name: string, digest: string): string {
  const called = programFunction(name);
  return [
    `// ${name} ${digest}`,
    `import { ${called} } from "./programs/index.js";`,
    `globalThis.result = await ${called}(data);`,
    "",
  ].join("\n");
}

function pythonCall(name: string, digest: string, isAsync: boolean): string {
  const called = toolNameOf(name);
  return [
    `# ${name} ${digest}`,
    `from programs import ${called}`,
    `result = ${isAsync ? "await " : ""}${called}(data)`,
    "",
  ].join("\n");
}

/** The name of the saved program that a program only runs; \`undefined\` for any other program. */
export function calledByName(code: string): string | undefined {
  const [, name = "", digest = ""] = /^(?:\/\/|#) ([a-z0-9-]+) (sha256:[0-9a-f]{64})\n/.exec(code) ?? [];
  const forms = [
    typescriptCall(name, digest),
    pythonCall(name, digest, true),
    pythonCall(name, digest, false),
  ];
  return name !== "" && forms.includes(code) ? name : undefined;
}
